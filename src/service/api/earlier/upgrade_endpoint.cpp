#include "service/api/earlier/upgrade_endpoint.h"

#include "base/json.h"
#include "base/log.h"

namespace service::api {

Json earlier_process_json(const Offers& offers) {
    const OtherProcess* other = offers.other_process;
    const ProcessFigures* figures = other && other->is_replaced() ? other->figures() : nullptr;
    if (!figures) return nullptr;
    return {{"pid", figures->pid},
            {"version", figures->version},
            {"since_ms", other->since_ms()},
            {"publishers", figures->publishers},
            {"players", figures->players},
            {"connections", figures->connections},
            {"stream_memory_bytes", figures->stream_memory}};
}

std::vector<Endpoint> UpgradeEndpoint::endpoints() {
    Endpoints<UpgradeEndpoint> rows(*this);
    rows.get("/api/v1/upgrade", "the process that this one has replaced, while it still serves clients", kEarlierShape,
             &UpgradeEndpoint::state);
    Endpoint& end =
        rows.add(http::Method::kDelete, "/api/v1/upgrade", "ends that process, with the clients that it still has", "",
                 &UpgradeEndpoint::end_earlier);
    end.access = Access::kPrivileged;
    end.failures = {{404, "there is no such process"}};
    return rows.take();
}

base::Result<void> UpgradeEndpoint::state(Request&, Response& response) {
    return send_fields(response, context_.identity, {{"earlier_process", earlier_process_json(context_.offers)}});
}

base::Result<void> UpgradeEndpoint::end_earlier(Request& request, Response& response) {
    OtherProcess* other = context_.offers.other_process;
    const auto ended = other ? other->end_other() : base::fail(base::Code::kClosed, "there is no earlier process");
    if (!ended) return send_failure(response, context_.identity, 404, ended.error().text());
    base::log::trace("upgrade: the earlier process is ended by the API, for {}", request.peer_ip);
    return send_json(response, envelope(context_.identity));
}

}  // namespace service::api

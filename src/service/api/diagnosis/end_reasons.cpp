#include "service/api/diagnosis/end_reasons.h"

#include "base/json.h"
#include "config/snapshot.h"
#include "service/api/lists/listing.h"
#include "service/api/lists/statistics.h"

namespace service::api {

namespace {

net::SessionView closed_view(const net::ClosedSession& closed) {
    std::string_view url = closed.stream;
    if (url.starts_with(config::kDefaultVhost)) url.remove_prefix(config::kDefaultVhost.size());
    net::SessionView view{.id = closed.id, .vhost_id = closed.vhost_id, .stream_id = closed.stream_id, .ip = closed.ip};
    view.url = url;
    view.name = url.substr(url.rfind('/') + 1);
    view.type = closed.type;
    view.alive_ms = closed.ended_ms - closed.started_ms;
    view.traffic = closed.traffic;
    view.rates = {net::kbit_per_second(closed.traffic.received_bytes, view.alive_ms),
                  net::kbit_per_second(closed.traffic.sent_bytes, view.alive_ms)};
    return view;
}

// All fields of a current client, and more.
Json closed_json(const net::ClosedSession& closed) {
    Json out = session_json(closed_view(closed), true);
    out["started_ms"] = closed.started_ms;
    out["ended_ms"] = closed.ended_ms;
    out["reason"] = base::close_reason_name(closed.reason);
    out["text"] = closed.text;
    return out;
}

}  // namespace

base::Result<void> closed_clients(const Context& context, Request& request, Response& response) {
    List<net::ClosedSession> list(request, context.identity, "clients");
    // Sessions that end while this yields are not included.
    const net::ClosedSessions& closed = context.sessions.closed();
    const size_t size = closed.size();
    const uint64_t before = closed.total();
    for (size_t i = 0; i < size; ++i) {
        const size_t index = i + static_cast<size_t>(closed.total() - before);
        if (index >= closed.size()) break;
        TRY(list.add(closed.newest(index)));
    }
    return list.send(response, closed_json);
}

}  // namespace service::api

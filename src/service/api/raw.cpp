#include "service/api/raw.h"

#include <cmath>

#include "base/json.h"

namespace service::api {

Json to_json(const net::ReloadReport& report) {
    if (report.number == 0) return nullptr;
    Json changes = Json::array();
    for (const net::ReloadChange& change : report.changes)
        changes.push_back({{"vhost", change.vhost},
                           {"directive", change.directive},
                           {"before", change.before},
                           {"after", change.after},
                           {"in_force", change.in_force}});
    return {{"number", report.number},
            {"began_ms", report.began_ms},
            {"took_ms", report.took_ms},
            {"cause", report.cause},
            {"ok", report.ok},
            {"error", report.error},
            {"problems", report.problems},
            {"changes", std::move(changes)}};
}

std::vector<Endpoint> Raw::endpoints() {
    Endpoint row;
    row.methods = {http::Method::kGet, http::Method::kPost};
    row.pattern = "/api/v1/raw";
    row.summary =
        "?rpc=raw: what the API may change, and the last reload; ?rpc=reload: reads the "
        "configuration again; ?rpc=reload-fetch: how the last reload went";
    row.access = Access::kPrivileged;
    row.shape = "http_api?:any reloads?:any reload?:any data?{err:int msg:str state:int rid:str}";
    row.parameters = {{Parameter::In::kQuery,
                       "rpc",
                       Parameter::Type::kText,
                       "what is wanted",
                       {},
                       {},
                       {},
                       {"raw", "reload", "reload-fetch"},
                       true}};
    row.failures = {{409, "the configuration was refused; nothing was changed"}, {503, "it starts or ends"}};
    row.handler = [this](net::HttpRequest& request, net::HttpResponse& response) { return answer(request, response); };
    Endpoint run;
    run.methods = {http::Method::kGet};
    run.pattern = "/api/v1/operations";
    run.summary = "how the run goes: whether it drains, how busy the loop is, how many reloads there were";
    run.handler = [this](net::HttpRequest&, net::HttpResponse& response) { return operations(response); };
    return {std::move(row), std::move(run)};
}

base::Result<void> Raw::operations(net::HttpResponse& response) {
    const net::Load& load = operations_.load;
    Json body = envelope(identity_);
    body["data"] = {{"draining", operations_.draining},
                    {"load",
                     {{"level", net::load_level_name(load.level)},
                      {"busy_percent", std::round(load.busy_percent * 10) / 10},
                      {"refused", load.refused}}},
                    {"reloads", {{"total", operations_.reloads}, {"failed", operations_.reloads_failed}}}};
    return send_json(response, body);
}

base::Result<void> Raw::answer(net::HttpRequest& request, net::HttpResponse& response) {
    const config::RawApi raw = snapshot_()->http_api.raw_api;
    if (!raw.enabled)
        return send_failure(response, identity_, 403, "raw_api is off: http_api { raw_api { enabled on; } }");
    const std::string_view rpc = request.message.parameter("rpc");
    if (rpc == "raw") return report(response);
    if (rpc == "reload-fetch") return fetch(response);
    if (rpc != "reload") return send_failure(response, identity_, 400, "rpc is raw, reload or reload-fetch");
    if (!raw.allow_reload)
        return send_failure(response, identity_, 403,
                            "reloading is not allowed: http_api { raw_api { allow_reload on; } }");
    if (request.is_head()) return response.send_head(200, "application/json");
    return reload(response);
}

base::Result<void> Raw::report(net::HttpResponse& response) {
    const config::SnapshotPtr snapshot = snapshot_();
    const config::HttpApi& api = snapshot->http_api;
    std::string listen;
    for (const config::ListenAddress& address : api.listen) listen += (listen.empty() ? "" : " ") + address.text();
    Json body = envelope(identity_);
    body["http_api"] = {{"enabled", api.enabled},
                        {"listen", listen},
                        {"crossdomain", api.crossdomain},
                        {"raw_api",
                         {{"enabled", api.raw_api.enabled},
                          {"allow_reload", api.raw_api.allow_reload},
                          {"allow_query", false},
                          {"allow_update", false}}}};
    body["reloads"] = {{"total", operations_.reloads}, {"failed", operations_.reloads_failed}};
    body["reload"] = to_json(operations_.last_reload);
    return send_json(response, body);
}

// Uses SRS's values: its code for a bad configuration, and its states of a reload.
base::Result<void> Raw::fetch(net::HttpResponse& response) {
    constexpr int kBadConfiguration = 1023, kNone = 0, kParsing = 10, kFinished = 90;
    const net::ReloadReport& last = operations_.last_reload;
    const bool failed = last.number > 0 && !last.ok;
    Json body = envelope(identity_);
    body["data"] = {{"err", failed ? kBadConfiguration : 0},
                    {"msg", failed ? last.error : "Success"},
                    {"state", last.number == 0 ? kNone
                              : failed         ? kParsing
                                               : kFinished},
                    {"rid", std::to_string(last.number)}};
    return send_json(response, body);
}

base::Result<void> Raw::reload(net::HttpResponse& response) {
    if (!operations_.reload) return send_failure(response, identity_, 503, "the server is still starting");
    auto report = operations_.reload("API");
    if (!report && report.error().code() == base::Code::kCancelled) return std::unexpected(std::move(report.error()));
    if (!report) return send_failure(response, identity_, 503, report.error().text());
    const int status = report->ok ? 200 : 409;
    Json body = envelope(identity_, report->ok ? 0 : status);
    if (!report->ok) body["error"] = report->error;
    body["reload"] = to_json(*report);
    return send_json(response, body, status);
}

}  // namespace service::api

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
                           {"in_force", change.is_active}});
    return {{"number", report.number},
            {"began_ms", report.began_ms},
            {"took_ms", report.took_ms},
            {"cause", report.cause},
            {"ok", report.ok},
            {"error", report.error},
            {"problems", report.problems},
            {"changes", std::move(changes)}};
}

bool Raw::may_reload() const {
    const config::RawApi& raw = context_.snapshot->http_api.raw_api;
    return raw.enabled && raw.allow_reload;
}

std::vector<Endpoint> Raw::endpoints() {
    Endpoints<Raw> rows(*this);
    Endpoint& raw =
        rows.get("/api/v1/raw",
                 "?rpc=raw: what the API may change, and the last reload; ?rpc=reload: reads the "
                 "configuration again; ?rpc=reload-fetch: how the last reload went",
                 "http_api?:any reloads?:any reload?:any data?{err:int msg:str state:int rid:str}", &Raw::answer);
    raw.methods.push_back(http::Method::kPost);
    raw.access = Access::kPrivileged;
    raw.parameters = {
        {.name = "rpc", .doc = "what is wanted", .choices = {"raw", "reload", "reload-fetch"}, .required = true}};
    raw.failures = {{409, "the configuration was refused; nothing was changed"}, {503, "it starts or ends"}};
    Endpoint& changes = rows.get(
        "/api/v1/config/changes",
        "what a reload would change: reads and checks the configuration, and takes nothing of it; and the last reload",
        "ok:bool error:str may_reload:bool problems[:str] "
        "changes[vhost:str directive:str before:str after:str apply:str] last_reload:any",
        &Raw::changes);
    changes.access = Access::kPrivileged;
    changes.failures = {{503, "it starts or ends"}};
    rows.get("/api/v1/operations",
             "how the run goes: whether it drains, how busy the loop is, how many reloads there were", "",
             &Raw::operations);
    return rows.take();
}

base::Result<void> Raw::operations(Request&, Response& response) {
    const net::Load& load = context_.operations.load;
    return send_data(
        response, context_.identity,
        {{"draining", context_.operations.draining},
         {"load",
          {{"level", net::load_level_name(load.level)},
           {"busy_percent", std::round(load.busy_percent * 10) / 10},
           {"refused", load.refused}}},
         {"reloads", {{"total", context_.operations.reloads}, {"failed", context_.operations.reloads_failed}}}});
}

base::Result<void> Raw::answer(Request& request, Response& response) {
    const config::RawApi raw = context_.snapshot->http_api.raw_api;
    if (!raw.enabled)
        return send_failure(response, context_.identity, 403, "raw_api is off: http_api { raw_api { enabled on; } }");
    const std::string_view rpc = request.message.parameter("rpc");
    if (rpc == "raw") return report(response);
    if (rpc == "reload-fetch") return fetch(response);
    if (rpc != "reload") return send_failure(response, context_.identity, 400, "rpc is raw, reload or reload-fetch");
    if (!raw.allow_reload)
        return send_failure(response, context_.identity, 403,
                            "reloading is not allowed: http_api { raw_api { allow_reload on; } }");
    if (request.is_head()) return response.send_head(200, "application/json");
    return reload(response);
}

base::Result<void> Raw::report(Response& response) {
    const config::SnapshotPtr snapshot = context_.snapshot;
    const config::HttpApi& api = snapshot->http_api;
    std::string listen;
    for (const config::ListenAddress& address : api.listen) listen += (listen.empty() ? "" : " ") + address.text();
    return send_fields(
        response, context_.identity,
        {{"http_api",
          {{"enabled", api.enabled},
           {"listen", listen},
           {"crossdomain", api.crossdomain},
           {"raw_api",
            {{"enabled", api.raw_api.enabled},
             {"allow_reload", api.raw_api.allow_reload},
             {"allow_query", false},
             {"allow_update", false}}}}},
         {"reloads", {{"total", context_.operations.reloads}, {"failed", context_.operations.reloads_failed}}},
         {"reload", to_json(context_.operations.last_reload)}});
}

// Uses SRS's values: its code for a bad configuration, and its states of a reload.
base::Result<void> Raw::fetch(Response& response) {
    constexpr int kBadConfiguration = 1023, kNone = 0, kParsing = 10, kFinished = 90;
    const net::ReloadReport& last = context_.operations.last_reload;
    const bool failed = last.number > 0 && !last.ok;
    return send_data(response, context_.identity,
                     {{"err", failed ? kBadConfiguration : 0},
                      {"msg", failed ? last.error : "Success"},
                      {"state", last.number == 0 ? kNone
                                : failed         ? kParsing
                                                 : kFinished},
                      {"rid", std::to_string(last.number)}});
}

base::Result<void> Raw::reload(Response& response) {
    if (!context_.operations.reload)
        return send_failure(response, context_.identity, 503, "the server is still starting");
    auto report = context_.operations.reload("API");
    if (!report && report.error().code() == base::Code::kCancelled) return std::unexpected(std::move(report.error()));
    if (!report) return send_failure(response, context_.identity, 503, report.error().text());
    const int status = report->ok ? 200 : 409;
    Json body = envelope(context_.identity, report->ok ? 0 : status);
    if (!report->ok) body["error"] = report->error;
    body["reload"] = to_json(*report);
    return send_json(response, body, status);
}

base::Result<void> Raw::changes(Request&, Response& response) {
    if (!context_.operations.check_reload)
        return send_failure(response, context_.identity, 503, "the server is still starting");
    auto report = context_.operations.check_reload();
    if (!report && report.error().code() == base::Code::kCancelled) return std::unexpected(std::move(report.error()));
    if (!report) return send_failure(response, context_.identity, 503, report.error().text());
    Json changes = Json::array();
    for (const net::ReloadChange& change : report->changes)
        changes.push_back({{"vhost", change.vhost},
                           {"directive", change.directive},
                           {"before", change.before},
                           {"after", change.after},
                           {"apply", change.is_active ? "live" : "restart"}});
    return send_fields(response, context_.identity,
                       {{"ok", report->ok},
                        {"error", report->error},
                        {"may_reload", may_reload()},
                        {"problems", report->problems},
                        {"changes", std::move(changes)},
                        {"last_reload", to_json(context_.operations.last_reload)}});
}

}  // namespace service::api

#include "service/api/service.h"

#include <algorithm>
#include <iterator>

#include "base/json.h"
#include "base/log.h"
#include "config/listeners.h"
#include "net/http/http_options.h"
#include "runtime/loop/cpu_slice.h"
#include "service/api/table/jsonp.h"
#include "service/api/table/openapi.h"

namespace service::api {

namespace {
// How often what requests have left behind is checked for its age.
constexpr int64_t kApiHousekeepingMs = 5'000;

// The caller wants the answer of the process that this one has replaced.
bool is_for_earlier(const net::HttpRequest& request) { return request.message.parameter("process") == "earlier"; }

// For the audit file: what only reads is not recorded.
bool changes_something(const Endpoint& row, const net::HttpRequest& request) {
    // The other process has recorded it, with the caller's address and name.
    if (row.access != Access::kPrivileged || request.is_of_other_process) return false;
    return row.methods.front() != http::Method::kGet || request.message.parameter("rpc") == "reload";
}
}  // namespace

Service::Service(config::SnapshotPtr snapshot, const SharedParts& parts)
    : context_{parts, std::move(snapshot)}, server_(context_.sessions, context_.api_router, options()) {}

net::HttpServerOptions Service::options() const {
    auto options = net::http_server_options(context_.snapshot->http_api, context_.snapshot->global);
    options.response.server_name = context_.identity.signature;
    options.reserve = net::kOperatorReserve;
    options.may_use_reserve = [this](const http::Request& message, std::string_view client_ip) {
        return net::is_operator(message, client_ip, context_.snapshot->http_api);
    };
    options.response.json_error = [this](int status, std::string_view text) {
        return base::to_text(failure(context_.identity, status, text));
    };
    return options;
}

base::Result<void> Service::listen(const config::ListenAddresses& addresses, const net::TlsPair* tls) {
    for (const config::ListenAddress& address : addresses) {
        if (config::is_shared(*context_.snapshot, address)) continue;
        TRY(server_.listen({address.host, address.port, address.ipv6_only, address.reuse_port}, tls),
            tls ? "http_api/https/listen" : "http_api/listen");
        base::log::trace("HTTP API{} listens on {}", tls ? " over TLS" : "", address.text());
    }
    return {};
}

base::Result<void> Service::start() {
    const config::HttpApi& api = context_.snapshot->http_api;
    system_.start();  // its figures are in reports of the heartbeat, too
    if (!api.enabled) return {};
    housekeeper_ = runtime::spawn("api-housekeeper", [this] {
        while (runtime::sleep_ms(kApiHousekeepingMs)) {
            recordings_.drop_old();
            snapshots_.drop_old();
            verdicts_.drop_old();
        }
    });
    history_.start();
    log_control_access();
    if (api.https.http2) tls_pair_.set_protocols(net::kHttpProtocols);
    if (api.https.enabled) TRY(tls_pair_.load(api.https.cert, api.https.key));
    TRY(listen(api.listen, nullptr));
    if (api.https.enabled) TRY(listen(api.https.listen, &tls_pair_));
    return {};
}

base::Result<std::move_only_function<void()>> Service::prepare(const config::SnapshotPtr& next) {
    auto tls = TRY(tls_pair_.prepare(next->http_api.https.cert, next->http_api.https.key));
    return [this, next, tls = std::move(tls)] {
        reload(next);
        tls_pair_.adopt(tls);
    };
}

std::string Service::summaries() const { return base::to_text(system_.summaries()); }

void Service::stop() {
    server_.stop();
    history_.stop();
    system_.stop();
    if (housekeeper_) housekeeper_.cancel_and_join();
    housekeeper_ = {};
}

void Service::reload(const config::SnapshotPtr& next) {
    context_.snapshot = next;
    server_.set_options(options());
}

// Logs which callers may change the server: users of SRS expect access from everywhere.
void Service::log_control_access() const {
    const config::HttpApi& api = context_.snapshot->http_api;
    const bool is_local = std::ranges::all_of(api.listen, [](const auto& address) { return address.is_loopback(); });
    if (api.auth.enabled || is_local) return;
    std::string others;
    for (const base::IpNetwork& network : api.control.allow) others += " and " + network.text();
    base::log::trace(
        "HTTP API: calls that change the server are accepted only from this machine{}, and not through a proxy; "
        "http_api's {} more",
        others, others.empty() ? "control { allow ...; } or auth allows" : "auth allows");
}

void Service::connect() {
    statistics_.add_other_process_routes(context_.offers.other_process_router);
    recordings_.add_other_process_routes(context_.offers.other_process_router);
    context_.offers.read_other_process.push_back([this](bool is_ending) {
        if (is_ending) diagnosis_.read_earlier();
    });
    if (!context_.snapshot->http_api.enabled) return;
    add_routes();
    for (const net::HttpRoute& route : context_.api_router.routes())
        if (route.pattern == "/api/v1/versions" || route.pattern == "/api/v1/poster") context_.router.add(route);
}

void Service::add_routes() {
    add_health();
    add_listings();
    auto add = [this](std::vector<Endpoint> rows) { std::ranges::move(rows, std::back_inserter(rows_)); };
    add(about_.endpoints());
    add(system_.endpoints());
    add(statistics_.endpoints());
    add(overview_.endpoints());
    add(upgrade_.endpoints());
    add(diagnosis_.endpoints());
    add(history_endpoint_.endpoints());
    add(control_.endpoints());
    add(url_signing_.endpoints());
    add(recordings_.endpoints());
    add(snapshots_.endpoints());
    add(log_lines_.endpoints());
    add(relays_.endpoints());
    add(past_.endpoints());
    add(debug_.endpoints());
    add(raw_.endpoints());
    add(context_.api_rows.rows);
    for (Endpoint& row : rows_)
        if (reads_by_post(row)) row.methods.push_back(http::Method::kPost);
    for (const Endpoint& row : rows_) add_route(row);
}

// As in SRS, what is read by GET can also be read by POST, where POST is not used for anything else.
bool Service::reads_by_post(const Endpoint& row) const {
    return row.methods == std::vector{http::Method::kGet} && row.access == Access::kRead && !row.debug &&
           row.pattern.starts_with("/api/v1/") && row.content_type == "application/json" &&
           !find_row(row.pattern, http::Method::kPost);
}

const Endpoint* Service::find_row(std::string_view pattern, http::Method method) const {
    for (const Endpoint& row : rows_)
        if (row.pattern == pattern && std::ranges::find(row.methods, method) != row.methods.end()) return &row;
    return nullptr;
}

// Unauthenticated, and without information about the server, for monitoring.
void Service::add_health() {
    auto health = [this](const char* path, const char* summary, bool when_draining) {
        Endpoint row;
        row.pattern = path;
        row.summary = summary;
        row.access = Access::kOpen;
        row.content_type = "text/plain";
        if (!when_draining) row.failures = {{503, "it ends: it wants no new clients"}};
        row.handler = [this, when_draining](net::HttpRequest&, net::HttpResponse& response) {
            const bool draining = context_.operations.draining;
            response.header("Cache-Control", "no-store");
            if (draining && !when_draining) return response.send(503, "text/plain", "draining\n");
            return response.send(200, "text/plain", draining ? "draining\n" : "ok\n");
        };
        rows_.push_back(std::move(row));
    };
    health("/healthz", "that the server lives", true);
    health("/readyz", "that it takes new clients", false);
}

void Service::add_listings() {
    auto listing = [this](std::string path, std::string summary) {
        Endpoint row;
        row.pattern = path;
        row.summary = std::move(summary);
        row.shape = "urls:any";
        row.own_words = true;
        row.handler = [this, path](net::HttpRequest&, net::HttpResponse& r) { return list_below(path, r); };
        rows_.push_back(std::move(row));
    };
    listing("/", "the root of the API");
    listing("/api/", "the API");
    listing("/api/v1/", "the API's version 1");
    Endpoint row;
    row.pattern = "/api/v1/openapi.json";
    row.summary = "this API as an OpenAPI 3.1 document";
    row.own_words = true;
    row.shape = "=openapi:str info:any paths:any components:any";
    row.handler = [this](net::HttpRequest&, net::HttpResponse& response) -> base::Result<void> {
        runtime::CpuSlice slice(1);
        const Json document =
            TRY(openapi_document(rows_, context_.identity.version, [&slice] { return slice.step(); }));
        return send_json(response, document);
    };
    rows_.push_back(std::move(row));
}

// rows_ is complete and is not moved any more.
void Service::add_route(const Endpoint& row) {
    net::HttpRoute route;
    route.methods = row.methods;
    route.pattern = row.pattern;
    route.summary = row.summary;
    route.body_limit_bytes = row.body_limit_bytes;
    route.drain = row.drain;
    route.is_fallback = row.pattern == "/";
    route.handler = [this, &row](net::HttpRequest& request, net::HttpResponse& response) {
        return serve(row, request, response);
    };
    context_.api_router.add(std::move(route));
}

base::Result<void> Service::serve(const Endpoint& row, net::HttpRequest& request, net::HttpResponse& response) {
    const config::SnapshotPtr snapshot = context_.snapshot;
    const Jsonp jsonp = read_jsonp(request, row.access, snapshot->http_api);
    if (!jsonp.callback.empty()) response.as_script(jsonp.callback);
    if (jsonp.status) return send_failure(response, context_.identity, jsonp.status, jsonp.why);
    const bool has_other_method = !jsonp.callback.empty() && jsonp.method == http::Method::kDelete;
    const Endpoint* meant = has_other_method ? find_row(row.pattern, jsonp.method) : &row;
    if (!meant) return send_failure(response, context_.identity, 405, "there is nothing to delete");
    if (meant->access == Access::kPrivileged) response.same_origin_only();
    const net::AuthResult result = net::evaluate(meant->access, request, snapshot->http_api);
    if (result.status == 401) response.header("WWW-Authenticate", net::challenge(snapshot->http_api.auth));
    if (result.status == 401 && net::has_wrong_credentials(request, snapshot->http_api))
        runtime::warn_some(login_log_, "HTTP API: wrong user, password or token from {}", request.peer_ip);
    if (result.status) {
        auto refused = send_failure(response, context_.identity, result.status, result.why);
        record_change(*meant, request, {}, response);
        return refused;
    }
    if (meant->debug && !snapshot->http_api.debug)
        return send_failure(response, context_.identity, 404, "debugging is off: http_api { debug on; }");
    // Open endpoints are for clients, about themselves.
    const bool has_others_texts = meant->access != Access::kOpen && !meant->own_words;
    if (has_others_texts && !net::may_see_secrets(request, snapshot->http_api)) response.without_secrets();
    // Whom it is about is gone afterwards.
    std::string about =
        context_.offers.audit && changes_something(*meant, request) ? subject_of(*meant, request) : std::string();
    auto handled = handle(*meant, request, response);
    record_change(*meant, request, std::move(about), response);
    return handled;
}

// With another process beside this one it may be that one that knows, or both. What decides by who asks (kOpen) is not
// passed on: there the caller is this process.
base::Result<void> Service::handle(const Endpoint& row, net::HttpRequest& request, net::HttpResponse& response) {
    const config::HttpApi& api = context_.snapshot->http_api;
    const bool asks_earlier = is_for_earlier(request) && row.access != Access::kOpen &&
                              net::evaluate(Access::kPrivileged, request, api).status == 0;
    if (asks_earlier || (row.of_both.by_publisher && is_published_there(request))) {
        if (TRY(earlier_.passes_on(request, response, row.methods.front(), row.of_both.within_ms))) return {};
        if (asks_earlier && !request.is_of_other_process)
            return send_failure(response, context_.identity, 404, "there is no earlier process");
    }
    earlier_.join(row.of_both, request, response);
    return row.handler(request, response);
}

// A stream that nobody here knows may be one of it.
bool Service::is_published_there(const net::HttpRequest& request) const {
    if (!earlier_.has(request)) return false;
    live::StreamKey key;
    return !statistics_.find_stream(request.capture("id"), key) || context_.offers.other_process->publishes(key);
}

// Yields where the client may be one of the process that this one has replaced.
std::string Service::subject_of(const Endpoint& row, const net::HttpRequest& request) {
    if (row.subject) return row.subject(request);
    const std::string_view id = request.capture("id");
    if (id.empty()) return {};
    if (const net::Session* session = context_.sessions.find(id))
        return fmt::format("{} {} {}", net::session_type_name(session->type()), session->stream_text(), session->ip());
    live::StreamKey key;
    if (statistics_.find_stream(id, key)) return "stream " + key.text();
    const auto client = earlier_.object(request, client_request(http::Method::kGet, id).target, "client");
    if (!client || !client->is_object()) return {};
    const auto text = [&](const char* name) {
        const auto found = client->find(name);
        return found != client->end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    return fmt::format("{} {} {}", text("type"), text("url"), text("ip"));
}

void Service::record_change(const Endpoint& row, const net::HttpRequest& request, std::string about,
                            const net::HttpResponse& response) const {
    if (!context_.offers.audit || !changes_something(row, request)) return;
    std::string user = net::login_of(request.message.headers.get("Authorization"), context_.snapshot->http_api.auth);
    // Who may not even read is in the log, which has a limit for that.
    if (user.empty() && (response.status() == 401 || response.status() == 403)) return;
    std::string what = fmt::format("{} {}", http::method_name(request.message.method), request.message.path);
    if (const auto rpc = request.message.parameter("rpc"); !rpc.empty()) what.append(" rpc=").append(rpc);
    if (is_for_earlier(request)) what.append(" process=earlier");
    context_.offers.audit({.action = "api",
                           .ip = request.peer_ip,
                           .user = std::move(user),
                           .what = std::move(what),
                           .about = std::move(about),
                           .result = response.status() ? std::to_string(response.status()) : "no answer"});
}

// Lists the routes one level below the path.
base::Result<void> Service::list_below(std::string_view path, net::HttpResponse& response) {
    Json urls = Json::object();
    for (const net::HttpRoute& route : context_.api_router.routes()) {
        std::string_view pattern = route.pattern;
        if (!pattern.starts_with(path) || pattern.size() == path.size()) continue;
        pattern.remove_prefix(path.size());
        const size_t slash = pattern.find('/');
        std::string name(pattern.substr(0, slash));
        if (name.empty() || name.starts_with('{') || name == "*") continue;
        const bool is_it = slash == pattern.npos || slash + 1 == pattern.size();
        if (is_it || !urls.contains(name)) urls[name] = is_it ? route.summary : "what is below " + name;
    }
    return send_fields(response, context_.identity, {{"urls", std::move(urls)}});
}

}  // namespace service::api

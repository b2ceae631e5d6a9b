#include "service/api/service.h"

#include <unistd.h>

#include <charconv>

#include "base/log.h"
#include "net/service_id.h"

namespace service::api {
namespace {

Identity make_identity(const config::Snapshot& snapshot, std::string signature, std::string version) {
    Identity identity;
    identity.server =
        snapshot.global.server_id.empty() ? "vid-" + runtime::new_context_id() : snapshot.global.server_id;
    identity.service = net::service_id();
    identity.pid = std::to_string(getpid());
    identity.signature = std::move(signature);
    identity.version = std::move(version);
    return identity;
}

// The part of "0.1.0" with that place.
int version_part(std::string_view version, int place) {
    while (place-- > 0) version.remove_prefix(std::min(version.size(), version.find('.') + 1));
    int value = 0;
    std::from_chars(version.data(), version.data() + version.size(), value);
    return value;
}

}  // namespace

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, net::HttpRouter& router,
                 std::string signature, std::string version, const net::Operations& operations)
    : snapshot_(std::move(snapshot)),
      router_(router),
      identity_(make_identity(*snapshot_, std::move(signature), std::move(version))),
      debug_(identity_, sessions),
      raw_(identity_, operations, [this] { return snapshot_; }),
      server_(sessions, router, options()) {}

net::HttpServerOptions Service::options() const {
    net::HttpServerOptions options;
    options.response.server_name = identity_.signature;
    const config::HttpApi& api = snapshot_->http_api;
    options.response.crossdomain = api.crossdomain;
    options.response.write_timeout_ms = api.write_timeout;
    options.request_timeout_ms = api.request_timeout;
    options.body_timeout_ms = api.body_timeout;
    options.idle_timeout_ms = api.idle_timeout;
    options.limits.header_bytes = static_cast<size_t>(api.max_header_size);
    options.limits.target_bytes = options.limits.header_bytes / 2;
    options.max_connections = static_cast<size_t>(snapshot_->global.max_connections);
    return options;
}

base::Result<void> Service::listen(const config::ListenAddresses& addresses, std::shared_ptr<runtime::TlsContext> tls) {
    for (const config::ListenAddress& address : addresses) {
        TRY(server_.listen({address.host, address.port}, tls), tls ? "http_api/https/listen" : "http_api/listen");
        base::log::trace("HTTP API{} listens on {}", tls ? " over TLS" : "", address.text());
    }
    return {};
}

base::Result<void> Service::start() {
    const config::HttpApi& api = snapshot_->http_api;
    if (!api.enabled) return {};
    add_routes();
    std::shared_ptr<runtime::TlsContext> tls;
    if (api.https.enabled) tls = TRY(tls_pair_.load(api.https.cert, api.https.key));
    TRY(listen(api.listen, nullptr));
    if (tls) TRY(listen(api.https.listen, tls));
    return {};
}

base::Result<std::move_only_function<void()>> Service::prepare(const config::SnapshotPtr& next) {
    auto tls = TRY(tls_pair_.prepare(next->http_api.https.cert, next->http_api.https.key));
    return [this, next, tls = std::move(tls)] {
        reload(next);
        if (!tls) return;
        tls_pair_.adopt(*tls);
        server_.set_tls(tls);
    };
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    server_.set_options(options());
}

void Service::add_routes() {
    using net::HttpRequest;
    using net::HttpResponse;
    auto listing = [this](std::string path, std::string summary) {
        add({{http::Method::kGet},
             path,
             std::move(summary),
             Access::kRead,
             [this, path](HttpRequest&, HttpResponse& r) { return list_below(path, r); }});
    };
    listing("/", "the root of the API");
    listing("/api/", "the API");
    listing("/api/v1/", "the API's version 1");
    add({{http::Method::kGet},
         "/api/v1/versions",
         "the version of this server",
         Access::kRead,
         [this](HttpRequest&, HttpResponse& r) { return versions(r); }});
    for (Endpoint& endpoint : debug_.endpoints()) add(std::move(endpoint));
    for (Endpoint& endpoint : raw_.endpoints()) add(std::move(endpoint));
}

void Service::add(Endpoint endpoint) {
    net::HttpRoute route;
    route.methods = std::move(endpoint.methods);
    route.pattern = std::move(endpoint.pattern);
    route.summary = std::move(endpoint.summary);
    route.body_limit_bytes = endpoint.body_limit_bytes;
    route.handler = [this, access = endpoint.access, debug = endpoint.debug, handler = std::move(endpoint.handler)](
                        net::HttpRequest& request, net::HttpResponse& response) -> base::Result<void> {
        const config::SnapshotPtr snapshot = snapshot_;
        if (access == Access::kPrivileged) response.same_origin_only();
        const Verdict verdict = judge(access, request, snapshot->http_api.auth);
        if (verdict.status) return refuse(verdict, response);
        if (debug && !snapshot->http_api.debug)
            return send_failure(response, identity_, 404, "debugging is off: http_api { debug on; }");
        return handler(request, response);
    };
    router_.add(std::move(route));
}

base::Result<void> Service::refuse(const Verdict& verdict, net::HttpResponse& response) {
    if (verdict.status == 401) response.header("WWW-Authenticate", "Basic realm=\"SRS\", charset=\"UTF-8\"");
    return send_failure(response, identity_, verdict.status, verdict.why);
}

// One step down from the path: what the route table has there.
base::Result<void> Service::list_below(std::string_view path, net::HttpResponse& response) {
    Json urls = Json::object();
    for (const net::HttpRoute& route : router_.routes()) {
        std::string_view pattern = route.pattern;
        if (!pattern.starts_with(path) || pattern.size() == path.size()) continue;
        pattern.remove_prefix(path.size());
        const size_t slash = pattern.find('/');
        std::string name(pattern.substr(0, slash));
        if (name.empty() || name.starts_with('{') || name == "*") continue;
        const bool is_it = slash == pattern.npos || slash + 1 == pattern.size();
        if (is_it || !urls.contains(name)) urls[name] = is_it ? route.summary : "what is below " + name;
    }
    Json body = envelope(identity_);
    body["urls"] = std::move(urls);
    return send_json(response, body);
}

base::Result<void> Service::versions(net::HttpResponse& response) {
    Json body = envelope(identity_);
    body["data"] = {{"major", version_part(identity_.version, 0)},
                    {"minor", version_part(identity_.version, 1)},
                    {"revision", version_part(identity_.version, 2)},
                    {"version", identity_.version}};
    return send_json(response, body);
}

}  // namespace service::api

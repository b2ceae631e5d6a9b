#include "service/api/service.h"

#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "net/http_options.h"
#include "net/service_id.h"
#include "runtime/cpu_slice.h"
#include "service/api/openapi.h"

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

}  // namespace

Service::Service(config::SnapshotPtr snapshot, Parts parts, std::string signature, std::string version)
    : snapshot_(std::move(snapshot)),
      parts_(std::move(parts)),
      identity_(make_identity(*snapshot_, std::move(signature), std::move(version))),
      about_(
          identity_, [this] { return snapshot_; }, parts_.registry),
      system_(identity_, parts_.sessions),
      statistics_(
          identity_, [this] { return snapshot_; }, parts_.sessions, parts_.registry),
      why_(
          identity_, [this] { return snapshot_; }, parts_.sessions, parts_.registry, statistics_),
      control_(
          identity_, [this] { return snapshot_; }, parts_.sessions,
          [this](std::string_view id, live::StreamKey& key) { return statistics_.find_stream(id, key); },
          parts_.controls),
      debug_(identity_, parts_.sessions),
      raw_(identity_, parts_.operations, [this] { return snapshot_; }),
      server_(parts_.sessions, parts_.router, options()) {}

net::HttpServerOptions Service::options() const {
    auto options = net::http_server_options(snapshot_->http_api, snapshot_->global);
    options.response.server_name = identity_.signature;
    options.reserve = net::kOperatorReserve;
    options.may_use_reserve = [this](const http::Request& message, std::string_view client_ip) {
        return net::is_operator(message, client_ip, snapshot_->http_api.auth);
    };
    options.response.json_error = [this](int status, std::string_view text) {
        return base::to_text(failure(identity_, status, text));
    };
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
    system_.start();
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

std::string Service::summaries() const { return base::to_text(system_.summaries()); }

void Service::stop() {
    server_.stop();
    system_.stop();
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    server_.set_options(options());
}

void Service::add_routes() {
    add_health();
    add_listings();
    for (Endpoint& row : about_.endpoints()) add(std::move(row));
    for (Endpoint& row : system_.endpoints()) add(std::move(row));
    auto closed = [this](net::HttpRequest& request, net::HttpResponse& response) {
        return why_.closed_clients(request, response);
    };
    for (Endpoint& row : statistics_.endpoints(closed)) add(std::move(row));
    for (Endpoint& row : why_.endpoints()) add(std::move(row));
    for (Endpoint& row : control_.endpoints()) add(std::move(row));
    for (Endpoint& row : debug_.endpoints()) add(std::move(row));
    for (Endpoint& row : raw_.endpoints()) add(std::move(row));
    for (const Endpoint& row : parts_.others.rows) add(row);
}

// Open and without words about the server, for whoever watches over it.
void Service::add_health() {
    auto health = [this](const char* path, const char* summary, bool when_draining) {
        Endpoint row;
        row.methods = {http::Method::kGet};
        row.pattern = path;
        row.summary = summary;
        row.access = Access::kOpen;
        row.content_type = "text/plain";
        if (!when_draining) row.failures = {{503, "it ends: it wants no new clients"}};
        row.handler = [this, when_draining](net::HttpRequest&, net::HttpResponse& response) {
            const bool draining = parts_.operations.draining;
            response.header("Cache-Control", "no-store");
            if (draining && !when_draining) return response.send(503, "text/plain", "draining\n");
            return response.send(200, "text/plain", draining ? "draining\n" : "ok\n");
        };
        add(std::move(row));
    };
    health("/healthz", "that the server lives", true);
    health("/readyz", "that it takes new clients", false);
}

void Service::add_listings() {
    auto listing = [this](std::string path, std::string summary) {
        Endpoint row;
        row.methods = {http::Method::kGet};
        row.pattern = path;
        row.summary = std::move(summary);
        row.shape = "urls:any";
        row.handler = [this, path](net::HttpRequest&, net::HttpResponse& r) { return list_below(path, r); };
        add(std::move(row));
    };
    listing("/", "the root of the API");
    listing("/api/", "the API");
    listing("/api/v1/", "the API's version 1");
    Endpoint row;
    row.methods = {http::Method::kGet};
    row.pattern = "/api/v1/openapi.json";
    row.summary = "this API as an OpenAPI 3.1 document";
    row.shape = "=openapi:str info:any paths:any components:any";
    row.handler = [this](net::HttpRequest&, net::HttpResponse& response) -> base::Result<void> {
        runtime::CpuSlice slice(1);
        const Json document = TRY(openapi_document(rows_, identity_.version, [&slice] { return slice.step(); }));
        return send_json(response, document);
    };
    add(std::move(row));
}

void Service::add(Endpoint row) {
    net::HttpRoute route;
    route.methods = row.methods;
    route.pattern = row.pattern;
    route.summary = row.summary;
    route.body_limit_bytes = row.body_limit_bytes;
    route.handler = [this, row](net::HttpRequest& request, net::HttpResponse& response) {
        return serve(row, request, response);
    };
    parts_.router.add(std::move(route));
    rows_.push_back(std::move(row));
}

base::Result<void> Service::serve(const Endpoint& row, net::HttpRequest& request, net::HttpResponse& response) {
    const config::SnapshotPtr snapshot = snapshot_;
    if (row.access == Access::kPrivileged) response.same_origin_only();
    const net::Verdict verdict = net::judge(row.access, request, snapshot->http_api.auth);
    if (verdict.status == 401) response.header("WWW-Authenticate", net::kChallenge);
    if (verdict.status) return send_failure(response, identity_, verdict.status, verdict.why);
    if (row.debug && !snapshot->http_api.debug)
        return send_failure(response, identity_, 404, "debugging is off: http_api { debug on; }");
    return row.handler(request, response);
}

// One step down from the path: what the route table has there.
base::Result<void> Service::list_below(std::string_view path, net::HttpResponse& response) {
    Json urls = Json::object();
    for (const net::HttpRoute& route : parts_.router.routes()) {
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

}  // namespace service::api

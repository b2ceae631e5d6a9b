#include "service/http_server/service.h"

#include <algorithm>

#include "base/log.h"
#include "config/listeners.h"
#include "net/access/auth.h"
#include "net/http/http_options.h"
#include "net/http/opened_files.h"
#include "net/http/static_files.h"

namespace service::http_server {

namespace {

// "[vhost]/hls" is the path "/hls": the part before the first '/' is the host. A trailing slash is removed.
std::string_view mount_path(std::string_view mount) {
    mount.remove_prefix(std::min(mount.find('/'), mount.size()));
    while (mount.ends_with('/')) mount.remove_suffix(1);
    return mount;
}

bool mount_is_for(std::string_view mount, std::string_view host) {
    std::string_view wanted = mount.substr(0, mount.find('/'));
    return wanted.empty() || wanted == "[vhost]" || wanted == host;
}

}  // namespace

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, net::HttpRouter& router,
                 const net::HttpRouter& api, net::FileAccess& access, std::string server_name)
    : snapshot_(std::move(snapshot)),
      router_(router),
      api_(api),
      access_(access),
      server_name_(std::move(server_name)),
      server_(sessions, router, options()) {
    access_.set_snapshot(snapshot_);
}

net::HttpServerOptions Service::options() const {
    auto options = net::http_server_options(snapshot_->http_server, snapshot_->global);
    options.response.server_name = server_name_;
    options.opened_files = net::OpenedFiles::limit_beside(snapshot_->global.max_connections);
    auto shares = [this](const auto& addresses) {
        return std::ranges::any_of(addresses,
                                   [this](const auto& address) { return config::is_shared(*snapshot_, address); });
    };
    if (shares(snapshot_->http_server.listen) || shares(snapshot_->http_server.https.listen)) {
        options.reserve = net::kOperatorReserve;
        options.may_use_reserve = [this](const http::Request& message, std::string_view client_ip) {
            return net::is_operator(message, client_ip, snapshot_->http_api);
        };
    }
    return options;
}

base::Result<void> Service::listen(const config::ListenAddresses& addresses, const net::TlsPair* tls) {
    for (const config::ListenAddress& address : addresses) {
        const bool is_shared = config::is_shared(*snapshot_, address);
        TRY(server_.listen({address.host, address.port, address.ipv6_only, address.reuse_port}, tls,
                           is_shared ? &shared_ : nullptr),
            tls ? "http_server/https/listen" : "http_server/listen");
        base::log::trace("{}{} listens on {}", tls ? "HTTPS" : "HTTP", is_shared ? " with the API" : "",
                         address.text());
    }
    return {};
}

base::Result<void> Service::start() {
    const config::HttpServer& http = snapshot_->http_server;
    if (!http.enabled) return {};
    net::HttpRoute route;
    route.methods = {http::Method::kGet};
    route.pattern = "/*";
    route.summary = "Files of the vhost's http_static.dir, then of http_server.dir";
    route.handler = [this](net::HttpRequest& request, net::HttpResponse& response) {
        return serve_file(request, response);
    };
    router_.add(std::move(route));
    auto share_api = [this](bool fallbacks) {
        for (net::HttpRoute one : api_.routes()) {
            if (one.is_fallback != fallbacks) continue;
            one.still_served = [] { return true; };
            shared_.add(std::move(one));
        }
    };
    // The first of equal routes counts: the start page at / is added before the API's list.
    share_api(false);
    for (const net::HttpRoute& one : router_.routes()) shared_.add(one);
    share_api(true);
    // The certificate is loaded first: with an invalid one nothing listens.
    if (http.https.http2) tls_pair_.set_protocols(net::kHttpProtocols);
    if (http.https.enabled) TRY(tls_pair_.load(http.https.cert, http.https.key));
    TRY(listen(http.listen, nullptr));
    if (http.https.enabled) TRY(listen(http.https.listen, &tls_pair_));
    return {};
}

base::Result<std::move_only_function<void()>> Service::prepare(const config::SnapshotPtr& next) {
    auto tls = TRY(tls_pair_.prepare(next->http_server.https.cert, next->http_server.https.key));
    return [this, next, tls = std::move(tls)] {
        reload(next);
        tls_pair_.adopt(tls);
    };
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    access_.set_snapshot(next);
    server_.set_options(options());
}

base::Result<void> Service::serve_file(net::HttpRequest& request, net::HttpResponse& response) {
    config::SnapshotPtr snapshot = snapshot_;
    // Not as a directory, which would be refused without an index.html: another route may have a page for it.
    const std::string path = request.message.path == "/" ? "/index.html" : request.message.path;
    const config::Vhost* vhost = snapshot->vhost(request.message.host);
    if (vhost && vhost->http_static.enabled && mount_is_for(vhost->http_static.mount, request.message.host)) {
        std::string_view mount = mount_path(vhost->http_static.mount);
        if (path.starts_with(mount) && (path.size() == mount.size() || path[mount.size()] == '/'))
            TRY(net::StaticFiles(vhost->http_static.dir, &access_)
                    .serve(std::string_view(path).substr(mount.size()), request, response));
        if (response.started()) return {};
    }
    return net::StaticFiles(snapshot->http_server.dir, &access_).serve(path, request, response);
}

}  // namespace service::http_server

#include "service/metrics/service.h"

#include "base/log.h"
#include "net/access/auth.h"
#include "net/http/http_options.h"
#include "service/metrics/config.h"

namespace service::metrics {

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
                 const net::Operations& operations, const Offers& offers, const Identity& identity, net::ApiTable& api)
    : snapshot_(std::move(snapshot)),
      identity_(identity),
      report_(sessions, registry, operations, offers),
      server_(sessions, router_, options()) {
    net::HttpRoute route;
    route.methods = {http::Method::kGet};
    route.pattern = "/metrics";
    route.summary = "metrics for Prometheus";
    route.handler = [this](net::HttpRequest& request, net::HttpResponse& response) { return serve(request, response); };
    router_.add(std::move(route));
    if (snapshot_->get<ServerConfig>().enabled) add_row(api);
}

// The API has checked the caller.
void Service::add_row(net::ApiTable& api) {
    net::ApiEndpoint row;
    row.pattern = "/metrics";
    row.summary = "metrics for Prometheus, with the exporter enabled";
    row.content_type = prometheus::Text::kContentType;
    row.handler = [this](net::HttpRequest&, net::HttpResponse& response) { return send_text(response); };
    api.add(std::move(row));
}

net::HttpServerOptions Service::options() const {
    // Request timeouts and sizes are those of the API, as is its auth.
    auto options = net::http_server_options(snapshot_->http_api, snapshot_->global);
    options.response.server_name = identity_.signature;
    options.response.crossdomain = false;
    // Metrics must remain available when the server is full.
    options.reserve = net::kOperatorReserve;
    return options;
}

base::Result<void> Service::start() {
    if (!snapshot_->get<ServerConfig>().enabled) return {};
    for (const config::ListenAddress& address : snapshot_->get<ServerConfig>().listen) {
        TRY(server_.listen({address.host, address.port, address.ipv6_only, address.reuse_port}), "exporter/listen");
        base::log::trace("metrics are at {}, /metrics", address.text());
    }
    return {};
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    server_.set_options(options());
}

base::Result<void> Service::serve(net::HttpRequest& request, net::HttpResponse& response) {
    const net::AuthResult result = net::evaluate(net::ApiAccess::kRead, request, snapshot_->http_api);
    if (result.status == 401) response.header("WWW-Authenticate", net::challenge(snapshot_->http_api.auth));
    if (result.status == 401 && net::has_wrong_credentials(request, snapshot_->http_api))
        runtime::warn_some(login_log_, "Exporter: wrong user, password or token from {}", request.peer_ip);
    if (result.status) return response.send_error(result.status, result.why);
    return send_text(response);
}

base::Result<void> Service::send_text(net::HttpResponse& response) {
    const auto text = TRY(text_.get([this] {
        const config::SnapshotPtr snapshot = snapshot_;
        return report_.make(identity_, snapshot->get<ServerConfig>());
    }));
    return response.send(200, prometheus::Text::kContentType, *text);
}

}  // namespace service::metrics

#include "service/metrics/service.h"

#include "base/log.h"
#include "net/access/auth.h"
#include "net/http/http_options.h"
#include "runtime/loop/cpu_slice.h"
#include "service/metrics/config.h"

namespace service::metrics {

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
                 const net::Operations& operations, Offers& offers, const Identity& identity, net::ApiTable& api)
    : snapshot_(std::move(snapshot)),
      offers_(offers),
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
    add_other_process_route();
    offers_.read_other_process.push_back([this](bool) { static_cast<void>(read_earlier()); });
}

void Service::add_other_process_route() {
    net::HttpRoute route;
    route.methods = {http::Method::kGet};
    route.pattern = "/metrics";
    route.summary = "the metrics, whether the exporter is enabled or not";
    route.handler = [this](net::HttpRequest&, net::HttpResponse& response) {
        text_.drop_older_than(-1);  // the last counters of all
        return send_text(response);
    };
    offers_.other_process_router.add(std::move(route));
}

// What it says replaces what it has said; within kEarlierMs, or that stays. kCancelled alone is an error.
base::Result<void> Service::read_earlier() {
    if (!offers_.other_process || !offers_.other_process->is_replaced()) return {};
    auto answer = offers_.other_process->ask(
        {.router = OtherRequest::Router::kOwn, .target = "/metrics", .within_ms = kEarlierMs});
    if (!answer && answer.error().code() == base::Code::kCancelled) return std::unexpected(std::move(answer).error());
    if (!answer || answer->status != 200) return {};
    prometheus::SampleReader reader;
    runtime::CpuSlice slice(64);
    for (std::string_view rest = answer->body; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        if (!reader.read_line(line)) return {};
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        TRY(slice.step());
    }
    earlier_ = std::make_shared<const prometheus::Families>(reader.take());
    return {};
}

// Those of streams end with their streams, as they do in one process.
void Service::forget_earlier_streams() {
    if (!earlier_ || earlier_has_ended_ || (offers_.other_process && offers_.other_process->is_replaced())) return;
    auto kept = std::make_shared<prometheus::Families>(*earlier_);
    std::erase_if(*kept, [](const auto& one) {
        return one.second.type == prometheus::Type::kGauge || one.first.starts_with("srs_stream_");
    });
    earlier_ = std::move(kept);
    earlier_has_ended_ = true;
}

base::Result<std::string> Service::make_text() {
    TRY(read_earlier());
    forget_earlier_streams();
    const config::SnapshotPtr snapshot = snapshot_;
    const auto earlier = earlier_;
    return report_.make(identity_, snapshot->get<ServerConfig>(), earlier.get());
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
    const auto text = TRY(text_.get([this] { return make_text(); }));
    return response.send(200, prometheus::Text::kContentType, *text);
}

}  // namespace service::metrics

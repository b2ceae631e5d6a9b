#include "server/upgrade/link_http.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"

namespace server {

using base::Code;
using base::Result;

namespace {

constexpr std::array<std::string_view, 3> kRouters = {"api", "http", "own"};

std::string_view name_of(service::OtherRequest::Router router) { return kRouters[static_cast<size_t>(router)]; }

net::HttpServerOptions options() {
    net::HttpServerOptions options;
    options.is_of_other_process = true;
    // Requests are those of clients, whose heads were within the limits of http_api and http_server.
    options.limits.header_bytes = 64 * 1024;
    options.limits.target_bytes = 32 * 1024;
    // What local streams say their peer is: the other process says whom it asks for (service/pass_on.h).
    options.trusted_proxies = {base::IpNetwork::parse("127.0.0.1").value()};
    return options;
}

}  // namespace

LinkHttp::LinkHttp(net::SessionTable& sessions, const Routers& routers, Connect connect)
    : sessions_(sessions), routers_(routers), connect_(std::move(connect)) {}

void LinkHttp::open() {
    ++process_;
    not_before_ms_ = 0;
    server_ = std::make_unique<net::HttpServer>(sessions_, routers_.api, options());
}

void LinkHttp::close() {
    if (server_) server_->stop();
    server_.reset();
}

void LinkHttp::serve(std::unique_ptr<runtime::ByteStream> stream, std::string_view router) {
    const std::array<const net::HttpRouter*, 3> all = {&routers_.api, &routers_.http, &routers_.own};
    if (!server_) return;
    if (server_->connections() >= kMaxServed)
        return runtime::warn_limited("upgrade: the other process has {} connections to this one's HTTP", kMaxServed);
    for (size_t i = 0; i < all.size(); ++i)
        if (router == kRouters[i]) return server_->serve(std::move(stream), all[i]);
}

Result<net::HttpAnswer> LinkHttp::ask(service::OtherRequest request) {
    if (asking_ >= kMaxRequests || (request.is_slow && slow_ >= kMaxSlow))
        return base::fail(Code::kLimit, "too much is being asked of the other process");
    if (runtime::now_ms() < not_before_ms_) return base::fail(Code::kTimeout, "the other process stands still");
    const bool is_slow = request.is_slow;
    ++asking_;
    slow_ += is_slow ? 1 : 0;
    const std::string_view router = name_of(request.router);
    net::HttpCall call;
    call.method = request.method;
    call.url = fmt::format("http://{}.other-process-{}{}", router, process_, request.target);
    call.headers = std::move(request.headers);
    call.body = std::move(request.body);
    call.max_body_bytes = service::OtherRequest::kMaxBody;
    call.connect = [this, router] { return connect_(router); };
    auto answer = client_.call(std::move(call), runtime::Deadline::in_ms(request.within_ms));
    --asking_;
    slow_ -= is_slow ? 1 : 0;
    if (!answer && answer.error().code() == Code::kTimeout && !is_slow) not_before_ms_ = runtime::now_ms() + kPauseMs;
    return answer;
}

}  // namespace server

// HttpConnection where HTTP/2 was agreed on.

#include <fmt/core.h>

#include "base/log.h"
#include "net/http/close_gently.h"
#include "net/http/forwarded.h"
#include "net/http/http_connection.h"

namespace net {

using base::CloseReason;

Http2Counters& http2_counters() {
    static Http2Counters counters;
    return counters;
}

void HttpConnection::begin_http2() {
    transport_.send_at_once();
    http2_ = std::make_unique<Http2Session>(
        static_cast<Http2Session::User&>(*this), *transport_.stream, server_.pool_, http2_counters(), shared_parts(),
        std::shared_ptr<const HttpResponseOptions>(options_, &options_->response), http2_limits());
    leave_list();
    become_idle();
    if (server_.ends_connections()) http2_->drain();
}

Http2Session::Limits HttpConnection::http2_limits() const {
    return {options_->limits, options_->request_timeout_ms, options_->body_timeout_ms};
}

// Those of a reload are for requests from then on.
void HttpConnection::refresh_options() {
    if (options_ == server_.options_) return;
    options_ = server_.options_;
    http2_->set_limits(http2_limits(), std::shared_ptr<const HttpResponseOptions>(options_, &options_->response));
}

// Events of streams, and the end.
void HttpConnection::run_http2() {
    if (why_.empty()) {
        http2_->settle();
        update_traffic();
        task_ = {};
        return;
    }
    if (closes_gently_) return;  // another coroutine does that
    http2_->shut(reason_ == CloseReason::kFlood || reason_ == CloseReason::kProtocolError);
    update_traffic();
    if (http2_->streams() > 0) {
        task_ = {};
        return;
    }
    closes_gently_ = true;
    close_gently(*transport_.stream, options_->response.write_timeout_ms);
    task_ = {};
    finish();
}

void HttpConnection::update_traffic() {
    transport_.received_bytes = http2_->received_bytes();
    transport_.sent_bytes = http2_->sent_bytes();
}

base::Result<void> HttpConnection::answer(HttpResponse& response, HttpRequest& request,
                                          std::optional<HttpRouter::Match> match) {
    auto answered = dispatch_.answer(response, request, std::move(match), phase());
    update_traffic();
    last_target_ = request.message.raw_path;
    last_answer_ = fmt::format("{} {}", http::method_name(request.message.method), response.status());
    return answered;
}

void HttpConnection::complete(HttpRequest& request) {
    request.peer_ip = client_ip(peer_ip_, request.message.headers, options_->trusted_proxies);
    request.tls = true;
    ++served_;
    ++server_.counters_.requests;
}

bool HttpConnection::may_be_served(const http::Request& message) { return !in_reserve_ || may_use_reserve(message); }

base::Result<void> HttpConnection::admit() {
    auto admitted = server_.sessions_.admission().admit_expected(peer_ip_);
    if (!admitted) return base::fail(base::Code::kLimit, admitted.error().text());
    return {};
}

void HttpConnection::on_streams(size_t count) {
    if (!why_.empty()) return;
    if (count == 0) {
        if (!is_idle()) become_idle();
        return;
    }
    end_idle();
    if (!in_reserve_) leave_list();
}

base::Result<void> HttpConnection::on_unfinished_input(size_t bytes) {
    body_memory_ = static_cast<uint32_t>(bytes);
    return count_input();
}

void HttpConnection::on_end(std::string why, CloseReason reason) {
    end(std::move(why), reason);
    wake();
}

bool HttpConnection::add_tasks(std::vector<runtime::Task>& tasks) {
    const size_t before = tasks.size();
    if (task_) tasks.push_back(task_);
    if (http2_) {
        http2_->shut(false);
        for (runtime::Task& task : http2_->tasks()) tasks.push_back(std::move(task));
    }
    return tasks.size() > before;
}

}  // namespace net

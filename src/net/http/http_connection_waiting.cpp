// HttpConnection while a request waits that was deferred.

#include <fmt/core.h>

#include "base/log.h"
#include "net/http/http_connection.h"

namespace net {

using base::CloseReason;
using base::Code;

namespace {
// Of what a client sends behind a request that waits, so much is read: to notice the connection's end.
constexpr size_t kEarlyBytes = 4 * 1024;
}  // namespace

HttpConnection::Next HttpConnection::defer(HttpResponse& response, const HttpRequest& request) {
    HttpResponse::Deferral& deferral = *response.deferral();
    transport_.send_at_once();
    has_early_input_ = false;
    waiting_ = std::make_unique<WaitingRequest>(static_cast<WaitingRequest::User&>(*this),
                                                WaitingRequest::Details{
                                                    .deferred = std::move(deferral.deferred),
                                                    .share = std::move(deferral.share),
                                                    .limit_ms = deferral.limit_ms,
                                                    .route = deferral.route,
                                                    .is_head = request.is_head(),
                                                    .keep_alive = response.keep_alive(),
                                                    .crossdomain = response.crossdomain(),
                                                    .options = &options_->response,
                                                    .observer = response.take_observer(),
                                                });
    last_answer_ = http::method_name(request.message.method);
    return Next::kRest;
}

void HttpConnection::on_answer() {
    if (parked_) send_answer();
}

void HttpConnection::on_write_timeout() {
    cancel(fmt::format("no byte of the answer accepted for {} ms", options_->response.write_timeout_ms),
           CloseReason::kTooSlow);
}

void HttpConnection::on_readable() {
    if (http2_) {
        refresh_options();
        http2_->read();
        update_traffic();
    } else if (waiting_) {
        read_early();
    } else {
        wake();
    }
}

void HttpConnection::on_writable() {
    if (http2_) {
        http2_->write();
        update_traffic();
    }
    if (waiting_ && waiting_->is_answered()) send_answer();
}

void HttpConnection::on_hangup() {
    if (http2_) end("closed by the peer", CloseReason::kPeerClosed);
    if (waiting_) end("closed by the peer, which waited for an answer", CloseReason::kPeerClosed);
    wake();
}

// Pipelined requests are kept; the end of the client's side is the end of its wait.
void HttpConnection::read_early() {
    auto& unread = transport_.unread;
    while (!waiting_->is_answered() && unread.size() < kEarlyBytes) {
        const auto buffer = runtime::shared_read_buffer().first(kEarlyBytes - unread.size());
        const auto got = transport_.stream->try_read(buffer);
        if (!got) {
            end(got.error());
            return wake();
        }
        if (got->end) return on_hangup();
        if (got->bytes == 0) return;
        transport_.received_bytes += got->bytes;
        unread.insert(unread.end(), buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(got->bytes));
    }
    has_early_input_ = true;
}

// While it is parked.
void HttpConnection::send_answer() {
    const runtime::ContextScope scope(id_);
    const auto sent = waiting_->send(*transport_.stream, transport_.sent_bytes);
    if (!sent) {
        end(sent.error());
        return wake();
    }
    if (*sent) end_answer();
}

void HttpConnection::end_answer() {
    last_answer_ = fmt::format("{} {}", last_answer_, waiting_->status());
    if (base::log::enabled(base::log::Level::kInfo))
        base::log::info("HTTP {} -> {}, {} bytes in {} ms", last_target_, last_answer_, waiting_->body_bytes(),
                        runtime::now_ms() - waiting_->began_ms());
    const bool keeps_alive = waiting_->keep_alive();
    waiting_.reset();
    if (!keeps_alive) {
        closes_gently_ = true;
        end("done", CloseReason::kDone);
        return wake();
    }
    if (has_early_input_ || !transport_.unread.empty()) return wake();
    become_idle();
    if (server_.ends_connections()) close_if_idle();
}

void HttpConnection::end_wait(bool stops) {
    if (http2_) http2_->end_waits(stops);
    if (!waiting_ || waiting_->is_answered()) return;
    const HttpRoute* route = waiting_->route();
    if (!stops && route && route->still_served && route->still_served()) return;
    waiting_->close_after();
    waiting_->answer_late();
}

}  // namespace net

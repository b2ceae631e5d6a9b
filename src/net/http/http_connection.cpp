#include "net/http/http_connection.h"

#include <fmt/core.h>

#include "base/log.h"
#include "base/shrink.h"
#include "net/http/close_gently.h"
#include "net/http/forwarded.h"
#include "protocol/http/date.h"
#include "protocol/http/response_head.h"

namespace net {

using base::CloseReason;
using base::Code;
using runtime::Deadline;
using RequestStep = http::RequestParser::Step;

namespace {

// Bytes per read; bytes after a request are kept, so this bounds the memory that pipelining can use.
constexpr size_t kReadBytes = 16 * 1024;
constexpr int64_t kLingerMs = 1'000;

}  // namespace

class HttpConnection::HttpSession final : public Session {
  public:
    HttpSession(HttpConnection& connection, const std::string& ip)
        : Session(connection.server_.sessions_, connection.id_, ip), connection_(connection) {
        if (connection.options_->is_of_other_process) connects_processes();
        set_type(SessionType::kHttp);
    }
    std::string stream_text() const override {
        if (connection_.last_target_.empty()) return "-";
        if (connection_.last_answer_.empty()) return connection_.last_target_;
        return fmt::format("{} ({})", connection_.last_target_, connection_.last_answer_);
    }
    Traffic traffic() const override {
        return {connection_.transport_.received_bytes, connection_.transport_.sent_bytes};
    }
    void kick(std::string_view reason) override { connection_.cancel(reason, CloseReason::kKicked); }
    size_t unfinished_input() const override { return connection_.body_memory_; }
    using Session::becomes_connection;
    using Session::count_input;
    using Session::log_end;
    using Session::not_a_connection;

  private:
    HttpConnection& connection_;
};

HttpConnection::HttpConnection(HttpServer& server, const HttpRouter& router,
                               std::unique_ptr<runtime::ByteStream> stream, std::shared_ptr<runtime::TlsContext> tls)
    : server_(server),
      dispatch_(router, server.logs_),
      tls_(std::move(tls)),
      options_(server.options_),
      id_(runtime::new_context_id()),
      peer_ip_(stream->peer_ip()),
      first_deadline_(Deadline::in_ms(options_->request_timeout_ms)),
      unlisted_{this},
      node_(unlisted_.begin()),
      late_(server.stopping_) {
    transport_.stream = std::move(stream);
    transport_.session = std::make_unique<HttpSession>(*this, peer_ip_);
}

HttpConnection::~HttpConnection() {
    server_.pool_.take_back(*this);
    end_idle();
    if (in_reserve_) --server_.in_reserve_;
}

void HttpConnection::enter_reserve() {
    static_cast<HttpSession&>(*transport_.session).not_a_connection();
    in_reserve_ = true;
    ++server_.in_reserve_;
}

void HttpConnection::await_request() {
    if (options_->is_of_other_process) return;
    Admission& admission = server_.sessions_.admission();
    EvictionList& list = in_reserve_ ? server_.reserve_idle_ : served_ == 0 ? admission.embryonic() : admission.idle();
    list.add(*this, base::monotonic_ms());
}

void HttpConnection::evict() {
    if (transport_.session) static_cast<HttpSession&>(*transport_.session).not_a_connection();
    leave_reserve();
    cancel("the server is full: it made room for another connection", CloseReason::kRefusedLimit);
}

void HttpConnection::leave_reserve() {
    if (in_reserve_) --server_.in_reserve_;
    in_reserve_ = false;
}

void HttpConnection::cancel(std::string_view why, CloseReason reason) {
    end(std::string(why), reason);
    if (task_) return task_.cancel();
    wake();
}

void HttpConnection::close_if_idle() {
    if (http2_) return http2_->drain();
    if (is_idle()) cancel("the server stops", CloseReason::kServerStop);
}

void HttpConnection::work(const runtime::Task& task) {
    task_ = task;
    runtime::set_context_id(id_);
    if (http2_) return run_http2();
    const Next next = why_.empty() ? serve() : Next::kClose;
    if (closes_gently_) close_gently(*transport_.stream, options_->response.write_timeout_ms);
    task_ = {};
    if (next != Next::kRest || runtime::cancelled()) return finish();
    parked_ = true;
    transport_.stream->park(*this);
    if (waiting_ && waiting_->is_answered()) send_answer();
}

void HttpConnection::wake() {
    if (parked_) transport_.stream->unpark();
    parked_ = false;
    server_.pool_.give(*this);
}

Deadline HttpConnection::idle_until() const {
    return Deadline::at_us(idle_since_.at_us() + server_.options_->idle_timeout_ms * 1000);
}

void HttpConnection::close_as_idle() {
    end_idle();
    cancel(fmt::format("idle for {} ms", server_.options_->idle_timeout_ms), CloseReason::kIdle);
}

void HttpConnection::finish() {
    const runtime::ContextScope scope(id_);
    if (transport_.session) static_cast<HttpSession&>(*transport_.session).log_end(why_, reason_);
    transport_.session.reset();
    server_.connections_.remove(*this);
}

HttpConnection::Next HttpConnection::serve() {
    if (served_ == 0) {
        auto ready = handshake();
        if (!ready) return end(ready.error().describe(), ready.error().close_reason());
        if (transport_.stream->protocol() == "h2") {
            begin_http2();
            return Next::kRest;
        }
    }
    Next next = Next::kRequest;
    while (next == Next::kRequest) next = serve_one();
    return next;
}

base::Result<void> HttpConnection::handshake() {
    if (!tls_) return {};
    transport_.stream = TRY(runtime::tls_accept(std::move(transport_.stream), tls_, first_deadline_), "TLS handshake");
    return {};
}

// The reason of the end; the first one counts.
HttpConnection::Next HttpConnection::end(std::string why, CloseReason reason) {
    if (why_.empty()) {
        why_ = std::move(why);
        reason_ = reason;
    }
    return Next::kClose;
}

// Feeds the bytes at hand.
RequestStep HttpConnection::feed_unread(http::RequestParser& parser) {
    auto& unread = transport_.unread;
    size_t used = 0;
    const RequestStep step = parser.feed(unread, used);
    unread.erase(unread.begin(), unread.begin() + static_cast<ptrdiff_t>(used));
    if (unread.empty()) base::shrink(unread);
    return step;
}

// Fails where the route wants no more of it.
base::Result<void> HttpConnection::drain_body(http::RequestParser& parser) {
    if (!drain_ || parser.body_bytes() == drained_) return {};
    const size_t bytes = parser.body_bytes() - drained_;
    drained_ += bytes;
    const int64_t wait_us = TRY(drain_->drain(parser.request(), bytes));
    if (wait_us > 0) TRY(runtime::sleep_until(Deadline::at_us(runtime::now_us() + wait_us)));
    return {};
}

base::Result<void> HttpConnection::count_body(http::RequestParser& parser) {
    TRY(drain_body(parser));
    body_memory_ = static_cast<uint32_t>(parser.request().body.capacity());
    return count_input();
}

base::Result<void> HttpConnection::count_input() {
    if (body_memory_ <= InputMemory::kFree && !http2_) return {};
    return static_cast<HttpSession&>(*transport_.session).count_input();
}

// Where the bytes at hand are not enough. RequestStep::kNeedMore: the peer closed its side.
base::Result<RequestStep> HttpConnection::read_more(http::RequestParser& parser, Deadline deadline) {
    auto& unread = transport_.unread;
    size_t used = 0;
    RequestStep step = RequestStep::kNeedMore;
    while (step == RequestStep::kNeedMore) {
        CHECK(unread.empty());
        auto buffer = runtime::shared_read_buffer().first(kReadBytes);
        size_t n = TRY(transport_.stream->read(buffer, deadline));
        if (n == 0) return RequestStep::kNeedMore;
        transport_.received_bytes += n;
        step = parser.feed(buffer.first(n), used);
        unread.assign(buffer.begin() + static_cast<ptrdiff_t>(used), buffer.begin() + static_cast<ptrdiff_t>(n));
        TRY(count_body(parser));  // which may yield: the buffer is everybody's
    }
    return step;
}

// Between requests only the idle timeout applies, which a part of a TLS record does not prolong; the head's time limit
// starts at its first byte.
base::Result<bool> HttpConnection::take_first_byte() {
    if (served_ == 0 || !transport_.unread.empty()) return true;
    if (server_.stopping_) return base::fail(Code::kCancelled, "the server stops");
    auto buffer = runtime::shared_read_buffer().first(kReadBytes);
    const auto got = TRY(transport_.stream->try_read(buffer));
    if (got.end) return base::fail(Code::kClosed, "closed by the peer");
    if (got.bytes == 0) {
        if (!is_idle()) become_idle();
        return false;
    }
    end_idle();
    // In the reserve it must first prove that it may use it.
    if (!in_reserve_) leave_list();
    transport_.received_bytes += got.bytes;
    transport_.unread.assign(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(got.bytes));
    return true;
}

void HttpConnection::become_idle() {
    idle_since_ = Deadline::in_ms(0);
    await_request();
    server_.idle_.splice(server_.idle_.end(), unlisted_);
    server_.has_idle_.set();
}

void HttpConnection::end_idle() {
    if (is_idle()) unlisted_.splice(unlisted_.end(), server_.idle_, node_);
}

// False: refused or closed, already handled.
base::Result<bool> HttpConnection::read_head(http::RequestParser& parser) {
    base::Result<RequestStep> step = feed_unread(parser);
    if (*step == RequestStep::kNeedMore)
        step = read_more(parser, served_ == 0 ? first_deadline_ : Deadline::in_ms(options_->request_timeout_ms));
    if (!step) {
        if (step.error().code() != Code::kTimeout) return std::unexpected(std::move(step.error()));
        if (parser.started()) {
            refuse_request(408, fmt::format("the head was not complete within {} ms", options_->request_timeout_ms));
        } else {
            end(fmt::format("no request within {} ms", options_->request_timeout_ms), CloseReason::kPeerTimeout);
        }
        return false;
    }
    if (*step == RequestStep::kNeedMore) {
        end(parser.started() ? "closed by the peer in the middle of a request" : "closed by the peer",
            CloseReason::kPeerClosed);
        return false;
    }
    if (*step == RequestStep::kError) {
        refuse_request(parser.error_status(), parser.error_text());
        return false;
    }
    return true;
}

base::Result<bool> HttpConnection::read_body(http::RequestParser& parser, const HttpRoute* route) {
    drain_ = route && route->drain ? route : nullptr;
    drained_ = 0;
    if (!parser.accept_body(route ? route->body_limit_bytes : options_->limits.body_bytes)) {
        refuse_request(parser.error_status(), parser.error_text());
        return false;
    }
    if (drain_) parser.drop_body();
    if (!parser.has_body()) return true;
    const Deadline deadline = Deadline::in_ms(options_->body_timeout_ms);
    if (parser.request().expects_continue && transport_.unread.empty()) {
        static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
        TRY(transport_.stream->write(std::span(reinterpret_cast<const uint8_t*>(kContinue.data()), kContinue.size()),
                                     deadline));
    }
    base::Result<RequestStep> step = feed_unread(parser);
    if (auto counted = count_body(parser); !counted)
        step = std::unexpected(std::move(counted.error()));
    else if (*step == RequestStep::kNeedMore)
        step = read_more(parser, deadline);
    if (!step) {
        if (is_of_drain(step.error())) {  // which is no fault of the client
            send_refusal(drain_status(step.error()), step.error().text());
            return false;
        }
        if (step.error().code() != Code::kTimeout) return std::unexpected(std::move(step.error()));
        refuse_request(408, fmt::format("the body was not complete within {} ms", options_->body_timeout_ms));
        return false;
    }
    if (*step == RequestStep::kError) {
        refuse_request(parser.error_status(), parser.error_text());
        return false;
    }
    if (*step == RequestStep::kNeedMore) end("closed by the peer in the middle of a request", CloseReason::kPeerClosed);
    return *step == RequestStep::kMessage;
}

HttpConnection::Next HttpConnection::serve_one() {
    options_ = server_.options_;
    auto has_first_byte = take_first_byte();
    if (!has_first_byte) return end(has_first_byte.error());
    if (!*has_first_byte) return Next::kRest;
    http::RequestParser parser(options_->limits);
    auto head = read_head(parser);
    if (!head) return end(head.error());
    if (!*head) return Next::kClose;
    if (in_reserve_ && !may_use_reserve(parser.request())) {
        refuse_request(503, "the server is full");
        return Next::kClose;
    }
    leave_list();
    auto match = dispatch_.router().match(parser.request().method, parser.request().path);
    auto body = read_body(parser, match ? match->route : nullptr);
    if (!body) return end(body.error());
    if (!*body) return Next::kClose;
    body_memory_ = 0;
    drain_ = nullptr;

    HttpRequest request;
    request.message = std::move(parser.request());
    request.peer_ip = client_ip(peer_ip_, request.message.headers, options_->trusted_proxies);
    request.tls = tls_ != nullptr;
    request.is_of_other_process = options_->is_of_other_process;
    request.session_id = id_;
    last_target_ = request.message.raw_path;  // parameters may contain secrets
    last_answer_.clear();
    ++served_;
    ++server_.counters_.requests;
    bool keep_alive =
        request.message.keep_alive && served_ < options_->requests_per_connection && !server_.ends_connections();
    Http1Response response(transport_, shared_parts(), request, options_->response, keep_alive);
    if (auto answered = dispatch_.answer(response, request, std::move(match), phase()); !answered)
        end(answered.error());
    if (!response.deferral())
        last_answer_ = fmt::format("{} {}", http::method_name(request.message.method), response.status());
    if (response.detached()) return Next::kClose;
    if (response.deferral()) return defer(response, request);
    if (!response.complete()) return end("the response was not complete", CloseReason::kSystemError);
    // The head may have promised to go on before the server was given over. What is asked next is not here any more;
    // clients ask again by another connection (RFC 9112, section 9.6).
    const bool goes_on = !server_.ends_connections() || !transport_.unread.empty();
    if (response.keep_alive() && goes_on) return Next::kRequest;
    closes_gently_ = true;
    return end("done", CloseReason::kDone);
}

HttpDispatch::Phase HttpConnection::phase() const {
    if (late_) return HttpDispatch::Phase::kEnds;
    return server_.given_over_ ? HttpDispatch::Phase::kGivenOver : HttpDispatch::Phase::kServes;
}

// For a connection of the reserve: whether the request may use it. If the server is not full any more, it becomes a
// regular connection.
bool HttpConnection::may_use_reserve(const http::Request& message) {
    if (!server_.sessions_.admission().is_full()) {
        leave_reserve();
        static_cast<HttpSession&>(*transport_.session).becomes_connection();
        return true;
    }
    if (!options_->may_use_reserve) return true;
    return options_->may_use_reserve(message, client_ip(peer_ip_, message.headers, options_->trusted_proxies));
}

// For input that cannot be served: sends the reason and closes gracefully.
void HttpConnection::refuse_request(int status, std::string_view text) {
    ++server_.counters_.bad_requests;
    runtime::warn_some(dispatch_.logs().refusals, "HTTP request from {} refused with {}: {}", peer_ip_, status, text);
    send_refusal(status, text);
}

void HttpConnection::send_refusal(int status, std::string_view text) {
    end(fmt::format("refused with {}: {}", status, text),
        status == 408 ? CloseReason::kPeerTimeout : CloseReason::kProtocolError);
    HttpRequest request;
    Http1Response response(transport_, shared_parts(), request, options_->response, false);
    if (status == 503) response.header("Retry-After", "5");
    if (response.send_error(status, text)) close_gently(*transport_.stream, kLingerMs);
}

void refuse_connection(runtime::ByteStream& stream, const HttpResponseOptions& options, int status) {
    std::string head = http::HeadWriter(status)
                           .field("Date", http::format_date(base::wall_ms() / 1000))
                           .field("Server", options.server_name)
                           .field("Retry-After", "5")
                           .field("Content-Length", uint64_t{0})
                           .field("Connection", "close")
                           .finish();
    auto bytes = std::span(reinterpret_cast<const uint8_t*>(head.data()), head.size());
    if (stream.write(bytes, Deadline::in_ms(kLingerMs))) close_gently(stream, kLingerMs);
}

}  // namespace net

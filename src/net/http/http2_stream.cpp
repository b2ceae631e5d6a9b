#include "net/http/http2_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <utility>

#include "base/ascii.h"
#include "net/http/http1_head.h"
#include "net/http/http2_response.h"
#include "net/http/http2_session.h"
#include "protocol/http/request_fields.h"
#include "protocol/http/response_head.h"
#include "runtime/loop/clock.h"

namespace net {

using base::Code;
using base::Result;
using runtime::Deadline;

Http2Stream::Http2Stream(Http2Session& session, int32_t id)
    : session_(session), id_(id), began_ms_(runtime::now_ms()) {}

Http2Stream::~Http2Stream() {
    session_.pool().take_back(*this);
    if (body_) body_->on_closed(ends_);
}

// ---- The request

void Http2Stream::add_field(std::string_view name, std::string_view value) {
    const http::Limits& limits = session_.limits().http;
    head_bytes_ += name.size() + value.size() + 4;
    if (head_bytes_ > limits.header_bytes) return refuse(431, "the head is too large");
    if (name == ":method") {
        request_.method = http::parse_method(value);
        if (value == "CONNECT") refuse(501, "method not implemented");
    } else if (name == ":path") {
        if (value.size() > limits.target_bytes) return refuse(414, "the URL is too long");
        request_.target = value;
    } else if (name == ":authority") {
        authority_ = value;
    } else if (!name.starts_with(':')) {
        if (request_.headers.size() >= limits.header_count) return refuse(431, "too many header fields");
        request_.headers.add(std::string(name), std::string(value));
    }
}

void Http2Stream::refuse(int status, std::string text) {
    if (refused_status_) return;
    refused_status_ = status;
    refused_text_ = std::move(text);
}

bool Http2Stream::check_head() {
    if (refused_status_) return false;
    auto checked = http::complete_target(request_);
    if (checked) checked = http::complete_host(request_, authority_);
    if (!checked) {
        refuse(400, checked.error().text());
        return false;
    }
    request_.minor_version = 1;
    request_.keep_alive = true;
    match_ = session_.user().router().match(request_.method, request_.path);
    body_limit_ = match_ ? match_->route->body_limit_bytes : session_.limits().http.body_bytes;
    uint64_t length = 0;
    const std::string_view announced = request_.headers.get("content-length");
    if (http::parse_length(announced, length) && length > body_limit_)
        refuse(413, fmt::format("a body of {} bytes, the limit is {}", length, body_limit_));
    return refused_status_ == 0;
}

void Http2Stream::on_head(bool is_all) {
    session_.count_request();
    if (!check_head()) return refuse_now();
    if (is_all) return start();
    if (const auto expect = request_.headers.find("expect");
        expect && http::equal_ignoring_case(*expect, "100-continue")) {
        nghttp2_nv field{reinterpret_cast<uint8_t*>(const_cast<char*>(":status")),
                         reinterpret_cast<uint8_t*>(const_cast<char*>("100")), 7, 3, NGHTTP2_NV_FLAG_NONE};
        nghttp2_submit_headers(session_.handle(), NGHTTP2_FLAG_NONE, id_, nullptr, &field, 1, nullptr);
    }
}

void Http2Stream::on_body(std::span<const uint8_t> bytes) {
    if (is_complete_) return;
    if (bytes.size() > body_limit_ - std::min(body_limit_, body_bytes_)) {
        refuse(413, fmt::format("the body exceeds {} bytes", body_limit_));
        return refuse_now();
    }
    body_bytes_ += bytes.size();
    if (match_ && match_->route->drain) {
        const auto wait_us = match_->route->drain(request_, bytes.size());
        if (wait_us) return;
        refuse(drain_status(wait_us.error()), wait_us.error().text());
        return refuse_now();
    }
    request_.body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void Http2Stream::on_end_of_body() {
    if (!is_complete_) start();
}

void Http2Stream::time_out() {
    refuse(408, fmt::format("the body was not complete within {} ms", session_.limits().body_timeout_ms));
    refuse_now();
    session_.pump();
}

// A request that cannot be served: answered at once, without a coroutine.
void Http2Stream::refuse_now() {
    is_complete_ = true;
    request_ = {};
    answer_ = std::make_shared<PreparedAnswer>(
        refused_status_, "text/plain; charset=utf-8", AnswerFields{},
        fmt::format("{} {}\n{}\n", refused_status_, http::reason_phrase(refused_status_), refused_text_));
    ends_ = true;
    answer_part_ = {const_cast<char*>(answer_->body().data()), answer_->body().size()};
    offer_ = std::span(&answer_part_, 1);
    (void)send_head({answer_->status(), answer_->content_type(), answer_->body().size(), true, true}, {});
}

void Http2Stream::start() {
    is_complete_ = true;
    is_served_ = true;
    session_.pool().give(*this);
}

void Http2Stream::work(const runtime::Task& task) {
    task_ = task;
    runtime::set_context_id(runtime::new_context_id());
    if (!is_closed_) serve();
    task_ = {};
    is_served_ = false;
    cancels_at_end_ = false;
    Http2Session& session = session_;
    session.pump();
    session.note(*this);
}

void Http2Stream::serve() {
    HttpRequest request;
    request.message = std::move(request_);
    request.session_id = runtime::context_id();
    session_.user().complete(request);
    const auto options = session_.options();
    Http2Response response(*this, session_.server(), request, *options);
    if (!session_.user().may_be_served(request.message)) {
        response.header("Retry-After", "5");
        (void)response.send_error(503, "the server is full");
        return;
    }
    (void)session_.user().answer(response, request, std::move(match_));
    if (response.deferral()) return take_over(response, request);
    if (!response.detached() && !response.complete()) reset(NGHTTP2_INTERNAL_ERROR);
}

// ---- A request that waits for its answer

void Http2Stream::take_over(HttpResponse& response, const HttpRequest& request) {
    if (is_closed_) return;
    deferral_ = std::make_unique<HttpResponse::Deferral>(std::move(*response.deferral()));
    observer_ = response.take_observer();
    crossdomain_ = response.crossdomain();
    is_head_ = request.is_head();
    deferral_->deferred->set_transport(*this);
    Timer::set(runtime::now_ms() + deferral_->limit_ms);
}

void Http2Stream::answer(AnswerPtr answer) {
    if (is_closed_) return;
    answer_ = answer ? std::move(answer) : deferral_->deferred->late_answer();
    Timer::set(runtime::now_ms() + session_.options()->write_timeout_ms);
    const size_t bytes = is_head_ || has_no_body(answer_->status()) ? 0 : answer_->body().size();
    answer_part_ = {const_cast<char*>(answer_->body().data()), bytes};
    offer_ = std::span(&answer_part_, 1);
    ends_ = true;
    if (observer_ && bytes > 0) observer_(bytes);
    (void)send_head({answer_->status(), answer_->content_type(), answer_->body().size(), crossdomain_, bytes > 0},
                    answer_->fields());
    session_.pump();
}

void Http2Stream::on_due() {
    if (!answer_) return deferral_->deferred->answer(nullptr);
    reset(NGHTTP2_CANCEL);
    session_.pump();
}

void Http2Stream::end_wait(bool stops) {
    if (!deferral_ || answer_) return;
    const HttpRoute* route = deferral_->route;
    if (!stops && route && route->still_served && route->still_served()) return;
    deferral_->deferred->answer(nullptr);
}

// ---- The response

namespace {

bool is_of_connection(std::string_view name) {
    constexpr std::string_view kNames[] = {"Connection", "Upgrade", "Keep-Alive", "Transfer-Encoding",
                                           "Proxy-Connection"};
    return std::ranges::any_of(kNames, [&](std::string_view one) { return http::equal_ignoring_case(one, name); });
}

class Fields {
  public:
    Fields() { fields_.reserve(kUsual); }
    void add(std::string_view name, std::string_view value) {
        value = http::trim(value);
        if (std::ranges::any_of(value, base::is_control)) {
            std::string& copy = copies_.emplace_back(value);
            std::ranges::replace_if(copy, base::is_control, ' ');
            value = http::trim(copy);
        }
        fields_.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                           reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                           NGHTTP2_NV_FLAG_NONE});
    }
    std::span<const nghttp2_nv> all() const { return fields_; }

  private:
    static constexpr size_t kUsual = 16;
    std::vector<nghttp2_nv> fields_;
    std::list<std::string> copies_;  // of values that had to be changed
};

ptrdiff_t read_body(nghttp2_session*, int32_t, uint8_t*, size_t room, uint32_t* flags, nghttp2_data_source* source,
                    void*) {
    return static_cast<Http2Stream*>(source->ptr)->fill_frame(room, *flags);
}

}  // namespace

Result<void> Http2Stream::send_head(const Head& head, std::span<const std::pair<std::string, std::string>> fields) {
    if (is_closed_) return base::fail(Code::kClosed, "the peer closed the stream");
    CHECK(!has_head_);
    has_head_ = true;
    const fmt::format_int status(head.status), length(head.length.value_or(0));
    Fields all;
    all.add(":status", {status.data(), status.size()});
    all.add("date", date_of_now());
    all.add("server", session_.options()->server_name);
    if (!head.content_type.empty()) all.add("content-type", head.content_type);
    if (head.length && !has_no_body(head.status)) all.add("content-length", {length.data(), length.size()});
    for (const auto& [name, value] : fields)
        if (!is_of_connection(name)) all.add(name, value);
    if (head.crossdomain && session_.options()->crossdomain) {
        all.add("access-control-allow-origin", "*");
        all.add("access-control-expose-headers", kExposedFields);
    }
    nghttp2_data_provider provider{{.ptr = this}, read_body};
    const int code = nghttp2_submit_response(session_.handle(), id_, all.all().data(), all.all().size(),
                                             head.has_body ? &provider : nullptr);
    if (code != 0) return base::fail(Code::kOther, nghttp2_strerror(code));
    // Otherwise it goes with the body.
    if (head.has_body) return {};
    ends_ = true;
    session_.pump();
    return {};
}

ptrdiff_t Http2Stream::fill_frame(size_t room, uint32_t& flags) {
    size_t all = 0;
    for (const iovec& part : offer_) all += part.iov_len;
    all -= offset_;
    const size_t bytes = std::min(all, room);
    if (bytes == all && ends_) flags |= NGHTTP2_DATA_FLAG_EOF;
    if (bytes > 0) {
        flags |= NGHTTP2_DATA_FLAG_NO_COPY;
        return static_cast<ptrdiff_t>(bytes);
    }
    if (ends_) return 0;
    if (is_blocked_) {
        is_blocked_ = false;
        has_room_ = true;
        room_.pulse();
        if (body_) session_.note(*this);
    }
    return NGHTTP2_ERR_DEFERRED;
}

void Http2Stream::take(std::span<uint8_t> to) {
    taken_ += to.size();
    if (body_ && !is_served_) session_.count_viewer_bytes(to.size());
    while (!offer_.empty()) {
        const iovec& part = offer_.front();
        const size_t bytes = std::min(part.iov_len - offset_, to.size());
        if (bytes > 0) std::memcpy(to.data(), static_cast<const uint8_t*>(part.iov_base) + offset_, bytes);
        to = to.subspan(bytes);
        offset_ += bytes;
        if (offset_ < part.iov_len) break;
        offer_ = offer_.subspan(1);
        offset_ = 0;
    }
    if (offer_.empty()) room_.pulse();
}

void Http2Stream::resume() {
    // An error means that it was not waiting for more.
    (void)nghttp2_session_resume_data(session_.handle(), id_);
    session_.pump();
}

Result<size_t> Http2Stream::try_send(std::span<const iovec> parts) {
    if (is_closed_ || ends_) return base::fail(Code::kClosed, "the peer closed the stream");
    size_t all = 0;
    for (const iovec& part : parts) all += part.iov_len;
    if (all == 0) return 0;
    offer_ = parts;
    offset_ = taken_ = 0;
    resume();
    offer_ = {};
    offset_ = 0;
    if (taken_ < all) is_blocked_ = true;
    return std::exchange(taken_, 0);
}

Result<void> Http2Stream::send(std::span<const iovec> parts, Deadline deadline, bool is_last) {
    if (is_closed_ || ends_) return base::fail(Code::kClosed, "the peer closed the stream");
    size_t all = 0;
    for (const iovec& part : parts) all += part.iov_len;
    if (all == 0 && !is_last) return {};
    offer_ = parts;
    offset_ = taken_ = 0;
    ends_ = is_last;
    resume();
    Result<void> waited;
    while (waited && taken_ < all && !is_closed_) waited = room_.wait_next(deadline);
    const bool is_all = taken_ == all;
    offer_ = {};
    offset_ = taken_ = 0;
    if (!is_all) ends_ = false;
    if (!waited) return waited;
    if (!is_all) return base::fail(Code::kClosed, "the peer closed the stream");
    return {};
}

Result<void> Http2Stream::await_room(Deadline deadline) {
    while (is_blocked_ && !is_closed_) TRY(room_.wait_next(deadline));
    return {};
}

void Http2Stream::finish() {
    if (std::exchange(ends_, true) || is_closed_) return;
    resume();
}

void Http2Stream::reset(uint32_t error_code) {
    if (is_closed_) return;
    nghttp2_submit_rst_stream(session_.handle(), NGHTTP2_FLAG_NONE, id_, error_code);
    session_.pump();
}

void Http2Stream::cancel_at_end(bool on) {
    cancels_at_end_ = on;
    if (on && is_closed_) task_.cancel();
}

void Http2Stream::on_body_dropped() {
    body_ = nullptr;
    // A viewer has left it; a handler's response ends with its coroutine.
    if (!is_served_ && !ends_) reset(NGHTTP2_CANCEL);
}

// ---- The end

void Http2Stream::on_closed() {
    is_closed_ = true;
    offer_ = {};
    room_.pulse();
    if (cancels_at_end_ && task_) task_.cancel();
    session_.note(*this);
}

void Http2Stream::cancel() {
    if (task_) task_.cancel();
}

void Http2Stream::notify() {
    if (is_closed_) {
        Timer::cancel();
        deferral_.reset();
        observer_ = nullptr;
        if (Http2Body* body = std::exchange(body_, nullptr); body && !is_served_) {
            body->on_closed(ends_);
        } else {
            body_ = body;
        }
    } else if (std::exchange(has_room_, false) && body_ && !is_served_) {
        body_->on_room();
    }
}

}  // namespace net

#pragma once
// Http2Stream: a request of an HTTP/2 connection, and its response. While its handler runs it has a coroutine of the
// server's pool; while the request arrives, while it waits for an answer that comes later (deferred.h), and while a
// viewer has its body, it has none. Bytes of a body stay where they are until the connection takes them. Private to
// Http2Session.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/http/http2_body.h"
#include "net/http/http_exchange.h"
#include "net/http/http_router.h"
#include "runtime/loop/coroutine_pool.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/timers.h"

namespace net {

class Http2Session;

class Http2Stream final : public runtime::Work, private DeferredTransport, private runtime::Timer {
  public:
    Http2Stream(Http2Session& session, int32_t id);
    ~Http2Stream();

    // ---- The request, as it arrives
    void add_field(std::string_view name, std::string_view value);
    // A field that is not allowed: the request will be refused.
    void refuse(int status, std::string text);
    // All fields are there. is_all: and there is no body.
    void on_head(bool is_all);
    void on_body(std::span<const uint8_t> bytes);
    void on_end_of_body();
    // It has not come in time.
    void time_out();
    size_t body_memory() const { return request_.body.capacity(); }
    bool is_arriving() const { return !is_complete_ && !is_closed_; }
    // ms, by the loop's clock: since when it has been arriving.
    int64_t began_ms() const { return began_ms_; }

    // ---- The response
    int32_t id() const { return id_; }
    Http2Session& session() const { return session_; }
    bool is_closed() const { return is_closed_; }
    // The head, which is sent with the first bytes of the body, or by the next pump() of the session. To be called
    // once.
    struct Head {
        int status = 200;
        std::string_view content_type{};  // empty: none
        std::optional<uint64_t> length{};
        bool crossdomain = true;
        bool has_body = true;
    };
    base::Result<void> send_head(const Head& head, std::span<const std::pair<std::string, std::string>> fields);
    // Never yields. What the windows and the connection take now.
    base::Result<size_t> try_send(std::span<const iovec> parts);
    // Yields until all was taken. is_last: the body ends with it.
    base::Result<void> send(std::span<const iovec> parts, runtime::Deadline deadline, bool is_last = false);
    // Until something may be taken.
    base::Result<void> await_room(runtime::Deadline deadline);
    void finish();
    void reset(uint32_t error_code);
    // While it is on, the stream's end cancels its coroutine.
    void cancel_at_end(bool on);
    // For a viewer; one at a time. Null: none has it any more.
    void set_body(Http2Body* body) { body_ = body; }
    void on_body_dropped();

    // ---- For the session
    // nghttp2's read callback: how many bytes there are for a frame of so many at most; flags: its own. Negative: an
    // error of nghttp2's.
    ptrdiff_t fill_frame(size_t room, uint32_t& flags);
    // Behind that: copies so many bytes.
    void take(std::span<uint8_t> to);
    void on_closed();
    // The deferred request's answer, when the server ends; see HttpConnection::end_wait().
    void end_wait(bool stops);
    void cancel();
    const runtime::Task& task() const { return task_; }
    // What happened since the last call is passed on; not from within nghttp2.
    void notify();
    // Nothing needs it any more.
    bool is_over() const { return is_closed_ && !is_served_; }

    size_t index = 0;       // in the session's list
    bool is_noted = false;  // in the session's list of streams to be notified

  private:
    void work(const runtime::Task& task) override;
    void serve();
    void answer(AnswerPtr answer) override;
    void on_due() override;
    void start();
    bool check_head();
    void refuse_now();
    void take_over(HttpResponse& response, const HttpRequest& request);
    void resume();

    Http2Session& session_;
    const int32_t id_;
    http::Request request_;
    std::string authority_;
    size_t head_bytes_ = 0;
    size_t body_limit_ = 0, body_bytes_ = 0;
    std::optional<HttpRouter::Match> match_;
    int refused_status_ = 0;
    std::string refused_text_;
    const int64_t began_ms_;
    runtime::Task task_;

    // What is to be sent now: parts from offset_ of the first one.
    std::span<const iovec> offer_{};
    size_t offset_ = 0, taken_ = 0;
    iovec answer_part_{};
    AnswerPtr answer_;
    std::unique_ptr<HttpResponse::Deferral> deferral_;
    HttpResponse::BodyObserver observer_;
    bool crossdomain_ = false, is_head_ = false;
    runtime::Event room_{"room in a stream of HTTP/2"};
    Http2Body* body_ = nullptr;
    bool is_complete_ = false;  // the request
    bool is_served_ = false;    // a coroutine has it, or will
    bool is_closed_ = false;    // by either side
    bool ends_ = false;         // after what is offered
    bool is_blocked_ = false;   // more was offered than taken
    bool has_room_ = false;     // and since then some could be taken
    bool cancels_at_end_ = false;
    bool has_head_ = false;  // of the response
};

}  // namespace net

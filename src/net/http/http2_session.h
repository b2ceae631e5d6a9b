#pragma once
// Http2Session: HTTP/2 (RFC 9113) on one connection, by libnghttp2, which has the framing, HPACK, flow control and
// priorities (RFC 9218). Here are the streams, what a client may cost (http2_budget.h), times, and the end. It has no
// coroutine: the connection's handler feeds it. The connection owns it and its socket, which is parked.
//
// Not here: server push, WebSockets, HTTP/2 without TLS.

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/close_reason.h"
#include "base/indexed_list.h"
#include "net/http/http2_budget.h"
#include "net/http/http2_counters.h"
#include "net/http/http2_response.h"
#include "net/http/http2_stream.h"
#include "net/http/http_router.h"
#include "protocol/http/message.h"
#include "runtime/loop/coroutine_pool.h"
#include "runtime/loop/timers.h"
#include "runtime/socket/byte_stream.h"

namespace net {

class Http2Session final : private runtime::Timer {
  public:
    static constexpr uint32_t kMaxStreams = 128;
    static constexpr uint32_t kConnectionWindow = 1 << 20;
    static constexpr size_t kMaxContinuations = 8;
    // Fields beyond max_header_size get 431; beyond so many times of it the connection is ended.
    static constexpr size_t kFieldFlood = 4;
    static constexpr int64_t kDrainMs = 1'000;  // between the two GOAWAYs: more than a round trip

    // The connection.
    class User {
      public:
        virtual base::Result<void> answer(HttpResponse& response, HttpRequest& request,
                                          std::optional<HttpRouter::Match> match) = 0;
        virtual const HttpRouter& router() const = 0;
        // What depends on the client: its address behind proxies, its session's id.
        virtual void complete(HttpRequest& request) = 0;
        // False: the server has no room for such a request.
        virtual bool may_be_served(const http::Request& message) = 0;
        // A viewer takes over a stream.
        virtual base::Result<void> admit() = 0;
        // Streams that are open, after a change.
        virtual void on_streams(size_t count) = 0;
        // Memory of requests that have not arrived completely. kLimit: the connection ends.
        virtual base::Result<void> on_unfinished_input(size_t bytes) = 0;
        // settle() is to be called soon, but not from here.
        virtual void post() = 0;
        // It is over: shut() is to be called, not from here.
        virtual void on_end(std::string why, base::CloseReason reason) = 0;

      protected:
        ~User() = default;
    };
    struct Limits {
        http::Limits http{};
        int64_t request_timeout_ms = 10'000;
        int64_t body_timeout_ms = 30'000;
    };

    Http2Session(User& user, runtime::ByteStream& stream, runtime::CoroutinePool& pool, Http2Counters& counters,
                 Http2Response::Server server, std::shared_ptr<const HttpResponseOptions> options,
                 const Limits& limits);
    ~Http2Session();  // no stream may have a coroutine

    // ---- For the connection, from the loop. None of them yields.
    void read();
    void write();
    // Passes on what has happened to streams, and destroys those that are over.
    void settle();
    // New streams are refused, then the connection ends with the last stream.
    void drain();
    // GOAWAY; all streams end. Those with coroutines live on until these have ended: see streams().
    void shut(bool is_fault);
    void end_waits(bool stops);
    size_t streams() const { return streams_.size(); }
    std::vector<runtime::Task> tasks() const;
    void set_limits(const Limits& limits, std::shared_ptr<const HttpResponseOptions> options);
    uint64_t received_bytes() const { return received_bytes_; }
    // Without the bodies that viewers have, which count for those.
    uint64_t sent_bytes() const { return sent_bytes_ - viewer_bytes_; }

    // ---- For its streams
    nghttp2_session* handle() const { return session_; }
    runtime::ByteStream& stream() const { return stream_; }
    runtime::CoroutinePool& pool() const { return pool_; }
    User& user() const { return user_; }
    const Http2Response::Server& server() const { return server_; }
    const std::shared_ptr<const HttpResponseOptions>& options() const { return options_; }
    const Limits& limits() const { return limits_; }
    base::Result<void> admit() { return user_.admit(); }
    // Sends what there is, as far as the connection takes it. Does nothing within nghttp2, whose caller does it.
    void pump();
    // The stream is to be notified, or destroyed.
    void note(Http2Stream& stream);
    void count_request();
    void count_viewer_bytes(size_t bytes) { viewer_bytes_ += bytes; }
    void count_unfinished();

  private:
    friend struct Http2Callbacks;
    enum class Phase : uint8_t { kOpen, kNoticed, kDraining, kShut };

    void feed(std::span<const uint8_t> bytes);
    void on_due() override;
    void check_times(int64_t now_ms);
    void schedule();
    bool flush();
    void fail(std::string why, base::CloseReason reason, uint64_t& counter);
    void end(std::string why, base::CloseReason reason);
    // nghttp2's callbacks.
    void on_begin_frame(const nghttp2_frame_hd& head);
    void on_begin_headers(const nghttp2_frame& frame);
    int on_header(const nghttp2_frame& frame, std::string_view name, std::string_view value);
    void on_frame(const nghttp2_frame& frame);
    void on_data(int32_t id, std::span<const uint8_t> bytes);
    void on_sent(const nghttp2_frame& frame);
    void on_stream_close(int32_t id);
    void spend_reset();
    Http2Stream* find(int32_t id) const;

    User& user_;
    runtime::ByteStream& stream_;
    runtime::CoroutinePool& pool_;
    Http2Counters& counters_;
    const Http2Response::Server server_;
    std::shared_ptr<const HttpResponseOptions> options_;
    Limits limits_;
    nghttp2_session* session_ = nullptr;
    base::IndexedList<Http2Stream> streams_;
    std::vector<Http2Stream*> noted_;
    std::vector<uint8_t> unsent_;  // what the connection did not take
    Http2Budget budget_;
    const int64_t began_ms_;
    int64_t progress_ms_;        // when something was sent, or there was nothing to send
    int64_t head_began_ms_ = 0;  // 0: no fields are arriving
    int64_t noticed_ms_ = 0;
    uint32_t goaway_code_ = 0;  // of the last one that was sent
    int64_t uncounted_ = 0;     // bytes that came beyond those of frames that have begun
    size_t field_bytes_ = 0;    // of the fields that are arriving
    size_t unfinished_ = 0;     // bytes of bodies that are arriving
    size_t reported_streams_ = 0;
    uint64_t received_bytes_ = 0;
    uint64_t sent_bytes_ = 0, viewer_bytes_ = 0;  // passed to the connection; of these, of viewers
    Phase phase_ = Phase::kOpen;
    bool has_settings_ = false;  // the client's first frame has come
    bool inside_ = false;        // nghttp2 is being called
    bool settling_ = false;
    bool ended_ = false;      // the user has been told
    bool is_broken_ = false;  // nothing can be sent any more
};

}  // namespace net

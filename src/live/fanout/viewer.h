#pragma once
// Viewer: a socket, a place in a LiveLog and a few counters. It is no coroutine: after its handshake the service's
// session hands the socket over and ends; from then on the log's pump sends to it and the loop calls it for input.
//
// A session object of a service has a Viewer as a member and is its ViewerHandler. Both live until on_viewer_end, which
// is the last call; the session may destroy itself in it. The callbacks run in the loop's or the pump's coroutine and
// must not yield.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/close_reason.h"
#include "base/slice.h"
#include "live/fanout/wire_encoder.h"
#include "runtime/socket/byte_stream.h"

namespace live {

class LiveLog;
class Stream;
class Viewer;

class ViewerHandler {
  public:
    // Bytes that the peer sent. Valid during the call. May use every function of the viewer but leave().
    virtual void on_viewer_input(Viewer& viewer, std::span<const uint8_t> bytes) = 0;
    // The stream is over (its publisher left and did not come back in time): last words may be sent by send_control;
    // what is queued is still sent, then on_viewer_end comes.
    virtual void on_stream_end(Viewer& viewer) = 0;
    // The connection is closed. why is for the log: "closed by the peer", "no byte accepted for 30000 ms", ...
    virtual void on_viewer_end(Viewer& viewer, std::string_view why) = 0;

  protected:
    ~ViewerHandler() = default;
};

struct ViewerCounters {
    uint64_t sent_bytes = 0;
    uint64_t received_bytes = 0;
    uint64_t skipped_bytes = 0;  // log bytes passed over when it was too far behind
    uint32_t jumps = 0;          // and went on at a later keyframe: how often
};

class Viewer final : private runtime::ParkedHandler {
  public:
    static constexpr size_t kMaxPending = 64;
    // More input than this at once from somebody who came to watch is a flood.
    static constexpr size_t kMaxInputBytes = 256 * 1024;

    // Once all is with the socket, it may take so long to reach a peer that takes some of it within each send_timeout.
    static constexpr int64_t kMaxFinishMs = 120'000;

    Viewer(ViewerHandler& handler, base::Ref<Stream> stream);
    ~Viewer();
    Viewer(const Viewer&) = delete;

    // Takes the socket and joins the stream's log of that key (made if it is the first). first_bytes go
    // out before anything else (a response head, RTMP's statuses).
    void join(const LogKey& key, std::unique_ptr<runtime::ByteStream> socket, base::Slice first_bytes);
    // Before it joins: how much of the stream it gets before it is ended; 0: all.
    void stop_after(uint32_t duration_ms);
    bool joined() const { return log_ != nullptr; }

    // Bytes that go out at the next packet boundary: RTMP control messages and command responses, WebSocket pongs.
    // Bounded (64 kB queued): beyond it the viewer is closed.
    void send_control(base::Slice bytes);
    // Paused: nothing of the log is sent. Resumed: goes on at the newest place to start.
    void set_paused(bool paused);
    // Goes over to another log of the same stream, at the next packet boundary, at a place to start.
    void switch_log(const LogKey& key);
    // The stream is over for it: what was published before is still sent, then on_stream_end comes. await_peer: and the
    // peer closes the connection, so that it has read all; how long that may take is the caller's business.
    void end_with_stream(bool await_peer = false);
    // What is queued as control is sent, then the connection is closed and on_viewer_end called with why.
    void finish(std::string_view why, base::CloseReason reason);
    // Closes now; on_viewer_end(why) is called soon, from the loop.
    void abort(std::string_view why, base::CloseReason reason);
    // Gives the socket back for use by a coroutine. The rest of the packet under way, and queued control bytes, are in
    // unsent: write them first. The viewer has left its log; on_viewer_end will not come.
    std::unique_ptr<runtime::ByteStream> leave(std::vector<base::Slice>& unsent);
    // Goes on over another socket, from the same place. Gives the old one back, and what is to go out on it before any
    // more of the log: the rest of the packet under way, and queued control bytes.
    std::unique_ptr<runtime::ByteStream> exchange_socket(std::unique_ptr<runtime::ByteStream> next,
                                                         std::vector<base::Slice>& unsent);

    Stream& stream() const { return *stream_; }
    runtime::ByteStream* socket() const { return socket_.get(); }
    ViewerCounters counters() const;
    // In on_viewer_end: what `why` says, for programs.
    base::CloseReason close_reason() const { return close_reason_; }
    // For the log: why, and how often it was too slow if it was.
    std::string end_text(std::string_view why) const;

  private:
    friend class Audience;
    enum class State : uint8_t { kIdle, kWaitingStart, kPlaying, kPaused, kFinishing, kDead };

    void on_readable() override;
    void on_writable() override;
    void on_hangup() override;

    // Where the next bytes come from: the rest of the packet under way, what is pending, then the log. Each part ends
    // where a packet or a pending Slice ends; a socket that several share builds on that.
    static constexpr size_t kMaxParts = 16;
    size_t gather(iovec (&parts)[kMaxParts], size_t& bytes) const;
    uint64_t log_limit() const;
    uint64_t end_offset() const { return rare_ ? rare_->end_offset : UINT64_MAX; }
    // From where on the log must keep what is there for it.
    uint64_t needs_from() const { return state_ == State::kPlaying ? position_ : UINT64_MAX; }
    // Sends what there is, without yielding.
    void flush(int64_t now_ms);
    void advance(size_t bytes);
    void start_if_possible();
    void begin_at_newest();
    void jump();
    void check_stall(int64_t now_ms);
    // What is published from now on is not for it. False: it ends already.
    bool set_end_here();
    void conclude(std::string_view why, base::CloseReason reason);
    void close_when_sent(int64_t now_ms);
    void peer_closed();
    // What is left of the packet under way goes out all the same. False: the viewer has ended, too much memory is
    // taken by such already.
    bool keep_rest_of_packet();
    void drop_kept();
    std::vector<base::Slice> take_unsent();
    void enter_log(const LogKey& key);
    void leave_log();
    void die(std::string_view why, base::CloseReason reason);

    // What most never have, made when it is needed.
    struct Rare {
        uint32_t duration_ms = 0;
        uint32_t jumps = 0;
        std::optional<media::Time> stop_dts;
        uint64_t end_offset = UINT64_MAX;  // the stream is over: what lies beyond is not for it
        uint64_t skipped_bytes = 0;
        size_t kept_bytes = 0;        // copies of the log among what is pending
        uint64_t unacknowledged = 0;  // bytes, when it was last asked while it finishes
        int64_t finish_until_ms = 0;
        std::string end_reason;
    };
    Rare& rare();

    ViewerHandler& handler_;
    base::Ref<Stream> stream_;
    LiveLog* log_ = nullptr;
    std::unique_ptr<runtime::ByteStream> socket_;
    base::CloseReason close_reason_ = base::CloseReason::kUnknown;  // the first that was given
    State state_ = State::kIdle;
    bool blocked_ : 1 = false;          // a send would have blocked; the loop will say when it is writable
    bool has_file_header_ : 1 = false;  // its first prefix was sent
    bool await_peer_ : 1 = false;       // it is finished when the peer closes
    bool shut_ : 1 = false;             // the socket has been told that nothing more comes
    uint32_t place_ = 0;                // index in its audience, then among the dead
    uint64_t position_ = 0;    // offset in the log of the next byte to send; while waiting: where to look for a start
    int64_t progress_ms_ = 0;  // monotonic: when a byte was last accepted, or nothing was left to send
    std::vector<base::Slice> pending_;  // goes out before the log's bytes, at a packet boundary
    std::unique_ptr<Rare> rare_;
    uint64_t sent_bytes_ = 0, received_bytes_ = 0;
};

}  // namespace live

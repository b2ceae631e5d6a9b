#pragma once
// Viewer: a socket, a Cursor in a LiveLog and a few counters. It is no coroutine: after its handshake the service's
// session hands the socket over and ends; from then on SendScheduler sends to it and the loop calls it for input.
//
// A session object of a service has a Viewer as a member and is its ViewerHandler. Both live until on_viewer_end, which
// is the last call; the session may destroy itself in it. The callbacks run in the loop's or the scheduler's coroutine
// and must not yield.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/close_reason.h"
#include "base/slice.h"
#include "live/fanout/cursor.h"
#include "live/fanout/wire_encoder.h"
#include "runtime/socket/byte_stream.h"

namespace runtime {
class SendJob;
}  // namespace runtime

namespace live {

class LiveLog;
class Stream;
class Viewer;

class ViewerHandler {
  public:
    // Bytes from the peer. Valid during the call. May use every function of the viewer.
    virtual void on_viewer_input(Viewer& viewer, std::span<const uint8_t> bytes) = 0;
    // The stream is over (its publisher left and did not come back in time): last messages may be sent by send_control;
    // queued bytes are still sent, then on_viewer_end comes.
    virtual void on_stream_end(Viewer& viewer) = 0;
    // The connection is closed. why is for the log: "closed by the peer", "no byte accepted for 30000 ms", ...
    virtual void on_viewer_end(Viewer& viewer, std::string_view why) = 0;

  protected:
    ~ViewerHandler() = default;
};

struct ViewerCounters {
    uint64_t sent_bytes = 0;
    uint64_t received_bytes = 0;
    uint64_t skipped_bytes = 0;  // log bytes skipped when it was too far behind
    uint32_t jumps = 0;          // how often it then continued at a later keyframe
};

// Of the time since it joined, for the record of its end.
struct ViewerHistory {
    uint32_t frames = 0;        // that its stream had
    int64_t first_ms = -1;      // until the first bytes of the stream were accepted; -1: none were
    uint32_t stalls = 0;        // how often no byte was accepted for Viewer::kStallMs or longer, and then some were
    int64_t stalled_ms = 0;     // all of them together
    int64_t last_stall_ms = 0;  // wall clock: when the last one ended
};

class Viewer final : private runtime::ParkedHandler {
  public:
    static constexpr size_t kMaxPending = 64;
    static constexpr int64_t kStallMs = 1000;
    static constexpr size_t kInputPiece = 2 * 1024;  // bytes of input between two checks of the time

    // Once all bytes are accepted by the socket, the maximum time for their acknowledgement, for a peer that
    // acknowledges some within each send_timeout.
    static constexpr int64_t kMaxFinishMs = 120'000;

    Viewer(ViewerHandler& handler, base::Ref<Stream> stream);
    ~Viewer();
    Viewer(const Viewer&) = delete;

    // Takes the socket and joins the stream's log of that key (made for its first viewer). first_bytes go out before
    // anything else (a response head, RTMP's statuses).
    void join(const LogKey& key, std::unique_ptr<runtime::ByteStream> socket, base::Slice first_bytes);
    // Before it joins: the duration of the stream after which it is ended; 0: unlimited.
    void stop_after(uint32_t duration_ms);
    // Before it joins: it is another server, to which the stream is passed on, and no player (Stream::demand()).
    void set_forward() { is_forward_ = true; }
    bool is_forward() const { return is_forward_; }
    bool joined() const { return log_ != nullptr; }

    // Bytes that go out at the next packet boundary: RTMP control messages and command responses, WebSocket pongs.
    // Bounded (64 kB queued): beyond it the viewer is closed.
    void send_control(base::Slice bytes);
    // Paused: no bytes of the log are sent. Resumed: continues at the newest start.
    void set_paused(bool paused);
    bool paused() const { return state_ == State::kPaused; }
    // Moves to another log of the same stream, at the next packet boundary, at a start.
    void switch_log(const LogKey& key);
    // The stream is over for it: what was published before is still sent, then on_stream_end comes. await_peer: and the
    // peer closes the connection, so that it has read all; a time limit for that is the caller's responsibility.
    void end_with_stream(bool await_peer = false);
    // Sends the queued control bytes, then closes the connection and calls on_viewer_end with why.
    void finish(std::string_view why, base::CloseReason reason);
    // Closes now; on_viewer_end(why) is called soon, from the loop.
    void abort(std::string_view why, base::CloseReason reason);
    // Gives the socket back for use by a coroutine. The rest of the packet under way, and queued control bytes, are in
    // unsent: write them first. The viewer has left its log; on_viewer_end will not be called.
    std::unique_ptr<runtime::ByteStream> leave(std::vector<base::Slice>& unsent);

    Stream& stream() const { return *stream_; }
    runtime::ByteStream* socket() const { return socket_.get(); }
    ViewerCounters counters() const;
    ViewerHistory history() const;
    // In on_viewer_end: the meaning of `why`, for programs.
    base::CloseReason close_reason() const { return close_reason_; }
    // For the log: why, and if it was too slow how often.
    std::string end_text(std::string_view why) const;

  private:
    friend class Audience;
    friend class LentWrites;
    enum class State : uint8_t { kIdle, kViewing, kPaused, kFinishing, kDead };

    void on_readable() override;
    void on_writable() override;
    void on_hangup() override;
    void read_input();

    // The next bytes: the rest of the packet under way, the pending ones, then the log. Each part ends where a packet
    // or a pending Slice ends; a socket shared by several viewers relies on that.
    static constexpr size_t kMaxParts = 16;
    size_t gather(iovec (&parts)[kMaxParts], size_t& bytes) const;
    // ---- A write that is lent to a sender thread
    // While one is, job_ is set, and position, pending bytes and log stay as they are: each entry point settles first.

    // True: it is lent; otherwise flush() is to be called. since_us: when the bytes arrived, for SendLatency; 0: not
    // sampled.
    bool lend(int64_t since_us);
    bool is_lent() const { return job_ != nullptr; }
    // The result is taken if the thread is done. False: it is not, or the write had failed and the viewer is closed.
    bool collect(int64_t now_ms);
    // The write is taken back if no thread has begun it, and awaited otherwise. False: it had failed, and the viewer is
    // closed.
    bool settle() { return !job_ || settle_lent(); }
    bool settle_lent();
    bool take_result(bool was_made, int64_t now_ms);
    // As settle(), where a failure does not matter: the socket is given up, or reports it again.
    void settle_anyway();
    void on_lent_write_done();
    // Whether it is so even after what a thread has sent.
    bool is_before(uint64_t offset) {
        return cursor_.is_before(offset) && (!job_ || (settle_lent() && cursor_.is_before(offset)));
    }

    // Bytes were accepted.
    void record_progress(int64_t now_ms) {
        cursor_.record_progress(now_ms);
        if (!has_begun_ && cursor_.plays()) [[unlikely]]
            record_begin(now_ms);
    }
    void record_begin(int64_t now_ms);
    // It was blocked, and is not any more.
    void record_stall(int64_t now_ms);
    // Sends what is available, without yielding.
    void flush(int64_t now_ms);
    void flush();
    void on_all_sent(int64_t now_ms);
    void advance(size_t bytes);
    // now: whatever tracks are awaited.
    void start_if_possible(bool now = false);
    void begin_at_newest();
    // Begins with a copy of the GOP, at the log's head. False: there is none.
    bool begin_with_copy();
    void jump();
    void check_stall(int64_t now_ms);
    // Frames published from now on are not sent to it. False: it ends already.
    bool set_end_here();
    void conclude_if_over();
    void conclude(std::string_view why, base::CloseReason reason);
    void close_when_sent(int64_t now_ms);
    void peer_closed();
    // Keeps a copy of the rest of the packet under way, so that it is still sent. False: the viewer was closed, such
    // copies take too much memory already.
    bool keep_rest_of_packet();
    void drop_kept();
    std::vector<base::Slice> take_unsent();
    void enter_log(const LogKey& key);
    void leave_log();
    void die(std::string_view why, base::CloseReason reason);

    // State that most viewers never have, made on first use.
    struct Rare {
        uint32_t duration_ms = 0;
        uint32_t jumps = 0;
        uint64_t skipped_bytes = 0;
        size_t kept_bytes = 0;        // copies of the log among the pending bytes
        uint64_t unacknowledged = 0;  // bytes, at the last check while it finishes
        uint32_t stalls = 0;
        int64_t stalled_ms = 0;
        int64_t last_stall_ms = 0;
        int64_t finish_until_ms = 0;
        std::string end_reason;
    };
    Rare& rare();

    ViewerHandler& handler_;
    base::Ref<Stream> stream_;
    LiveLog* log_ = nullptr;
    std::unique_ptr<runtime::ByteStream> socket_;
    base::CloseReason close_reason_ = base::CloseReason::kUnknown;  // the first reason given
    State state_ = State::kIdle;
    bool blocked_ : 1 = false;          // a send would have blocked; the loop reports when the socket is writable
    bool has_file_header_ : 1 = false;  // its first prefix was sent
    bool await_peer_ : 1 = false;       // it is finished when the peer closes
    bool shut_ : 1 = false;             // the socket's write side is shut down
    bool begins_later_ : 1 = false;     // tracks are awaited, and then begin_at_newest() is called again
    bool is_forward_ : 1 = false;
    bool has_begun_ : 1 = false;   // bytes of the stream were accepted
    uint32_t begin_ms_ = 0;        // low half of the time when it joined; later, how long it took until it began
    uint32_t frames_at_join_ = 0;  // low half of its stream's number
    uint32_t index_ = 0;           // index in its audience, then in Delivery's list of ends
    Cursor cursor_;
    runtime::SendJob* job_ = nullptr;   // of the sender threads' pool
    std::vector<base::Slice> pending_;  // goes out before the log's bytes, at a packet boundary
    std::unique_ptr<Rare> rare_;
    uint64_t sent_bytes_ = 0, received_bytes_ = 0;
};

}  // namespace live

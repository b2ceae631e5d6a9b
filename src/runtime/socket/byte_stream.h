#pragma once
// ByteStream: a connected byte stream, TCP or TLS, in one of two modes.
//  - Attached to a coroutine: read and write yield until the deadline.
//  - Parked: no coroutine waits on it; the loop calls a ParkedHandler when it becomes readable, writable or hangs up,
//    and try_read/try_write are used.
// A viewer has no coroutine: its stream is parked.
// The destructor closes. Errors: kClosed (peer closed or reset), kTimeout, kCancelled, kSystem.

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime {

class ParkedHandler {
  public:
    // Called from the loop's coroutine; they must not yield. Each may destroy the stream or unpark it.
    // Edge: read until would-block. A TCP stream also reports would-block after some kB, to let others run, and calls
    // again soon.
    virtual void on_readable() = 0;
    virtual void on_writable() = 0;  // edge: only after a try_write that would have blocked
    virtual void on_hangup() = 0;    // the peer is gone (RST, both directions shut, error)

  protected:
    ~ParkedHandler() = default;
};

class DatagramSink;

class ByteStream {
  public:
    virtual ~ByteStream() = default;

    // Up to buffer.size() bytes; 0 is the peer's end of stream.
    virtual base::Result<size_t> read(std::span<uint8_t> buffer, Deadline deadline) = 0;
    virtual base::Result<void> write(std::span<const uint8_t> bytes, Deadline deadline) = 0;
    // The iovecs are modified. All or an error.
    virtual base::Result<void> writev(std::span<iovec> parts, Deadline deadline) = 0;

    // Never yield. Bytes moved; 0 from try_write and nothing read from try_read mean it would block.
    struct TryRead {
        size_t bytes = 0;
        bool end = false;  // the peer's end of stream
    };
    virtual base::Result<TryRead> try_read(std::span<uint8_t> buffer) = 0;
    virtual base::Result<size_t> try_write(std::span<const uint8_t> bytes) = 0;
    virtual base::Result<size_t> try_writev(std::span<const iovec> parts) = 0;

    // A write that another thread makes (runtime/senders). From lend_write() to end_lent_write() the loop
    // neither writes nor closes; it may read where is_tls() is false. A write that was not made needs no end.
    struct WriteResult {
        ssize_t bytes = 0;     // accepted; negative: it failed
        bool blocked = false;  // the socket has not taken all that was given
    };
    struct LentWrite {
        // On the thread. sink: for a stream of datagrams. Null: this stream cannot be lent now.
        WriteResult (*call)(void* stream, std::span<iovec> parts, DatagramSink& sink) = nullptr;
        void* stream = nullptr;
        int fd = 0;  // the socket's, by which a thread is chosen
    };
    virtual LentWrite lend_write() { return {}; }
    // As try_writev().
    virtual base::Result<size_t> end_lent_write(WriteResult) {
        return base::fail(base::Code::kOther, "not a stream that is lent");
    }

    // For streams with a plain_fd(). Sends the head, and then bytes of a file, which must be in memory, from where they
    // are. Never yields, but blocks for what is not in memory. Returns how many bytes were sent, those of the head
    // first.
    virtual base::Result<size_t> try_send_file(std::span<const uint8_t> /*head*/, int /*file*/, uint64_t /*offset*/,
                                               size_t /*bytes*/) {
        return base::fail(base::Code::kOther, "not a plain stream");
    }
    // Between calls of try_...() by a coroutine that moves much: yields until more can be written, or because this
    // coroutine has run long. moved: bytes since the last call.
    virtual base::Result<void> await_writable(Deadline, size_t /*moved*/) {
        return base::fail(base::Code::kOther, "no coroutine may wait for this stream");
    }

    // No coroutine may be waiting on it. The handler must outlive the parking. If input or a hang-up is already
    // pending, the handler is called soon from the loop, not from here.
    virtual void park(ParkedHandler& handler) = 0;
    virtual void unpark() = 0;

    // Whether the peer has closed or is closing, as far as the kernel knows now; does not read. For taking over the
    // stream name of a dead publisher.
    virtual bool peer_gone() const = 0;
    // The plain socket that bytes may be sent to directly, or -1 (TLS).
    virtual int plain_fd() const = 0;
    virtual void set_no_delay(bool on) = 0;
    // The next input is acknowledged at once, not up to 40 ms later: a client that sends a request in several small
    // writes waits for the acknowledgement between them. The kernel resets this soon: call it before each wait.
    virtual void acknowledge_soon() = 0;
    // For a stream that always has input: from now on read() polls for input only at this interval (rounded down to 5
    // ms), in which several arrivals may come together, for less CPU time. 0: at once again. The peer's end is still
    // seen at once, a deadline at the next poll; parking ends it.
    virtual void pace_reads(int64_t interval_ms) = 0;
    // A coroutine that waits in a paced read() polls now, in place of the next poll. False: none does.
    virtual bool poll_now() { return false; }
    // While it is on, the peer's end of stream cancels the running coroutine, which waits for something else than this
    // stream and does not read it. Works for TCP and layers over it; does nothing elsewhere. See EndWatch.
    virtual void cancel_at_end(bool) {}
    // Half-close for writing after all written bytes, so that the peer reads them before the end.
    virtual void shutdown_write() = 0;
    // Graceful end before closing. Accepted bytes may still be in a layer above the kernel (TLS), where closing would
    // lose them; bytes in the kernel are lost with a reset if the peer sends anything after the close. try_finish
    // therefore sends the end (close_notify, FIN) after all of them; nothing may be written after that. Returns how
    // many bytes the peer's system has not acknowledged; while it is not 0, call it again from time to time.
    virtual base::Result<uint64_t> try_finish() { return 0; }
    // Sends what it can of the accepted bytes. Returns how many bytes the kernel has not taken.
    virtual base::Result<uint64_t> try_drain() { return 0; }
    // Yields until the kernel has it all, then shuts writing down.
    virtual base::Result<void> finish(Deadline) {
        shutdown_write();
        return {};
    }
    virtual std::string peer_ip() const = 0;       // "192.0.2.1", "2001:db8::1"
    virtual std::string peer_address() const = 0;  // "192.0.2.1:4711", "[2001:db8::1]:4711"
    virtual bool is_tls() const = 0;
    // The one that was agreed on by ALPN: "h2"; empty: none was.
    virtual std::string_view protocol() const { return {}; }
};

// While it lives, the stream's end cancels the coroutine that created it. For a coroutine that waits for others on a
// client's behalf, which is useless when the client is gone. Null: nothing is watched.
class EndWatch {
  public:
    explicit EndWatch(ByteStream* stream) : stream_(stream) {
        if (stream_) stream_->cancel_at_end(true);
    }
    ~EndWatch() {
        if (stream_) stream_->cancel_at_end(false);
    }
    EndWatch(const EndWatch&) = delete;

  private:
    ByteStream* stream_;
};

// The loop's read buffer: 256 kB that all coroutines share. Read into it, parse, and copy out what must be kept before
// the next yield.
std::span<uint8_t> shared_read_buffer();

// Waits until there is input, then reads it into the shared buffer. An empty span is the peer's end of stream. Valid
// until the next yield.
base::Result<std::span<uint8_t>> read_shared(ByteStream& stream, Deadline deadline);

}  // namespace runtime

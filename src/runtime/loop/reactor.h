#pragma once
// Internal. One edge-triggered epoll set for all our descriptors, each registered once. state-threads polls only that
// set's descriptor, so a wake-up costs in proportion to what is ready, not to what is waiting. One coroutine drains the
// set and wakes the coroutine, or calls the parked handler, behind each event. Publishers are read at intervals instead
// (read_pacer.h).

#include <sys/epoll.h>

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "runtime/loop/deadline.h"
#include "runtime/loop/read_pacer.h"
#include "runtime/socket/byte_stream.h"

namespace runtime::detail {

class Coroutine;

// A descriptor in the set. It remembers the state that edges reported, so that no call is made that would return
// EAGAIN. 32 bytes: there is one for each connection.
class Watch {
  public:
    // The most that a parked handler may read in one call of on_readable(). It is called again soon, after the others.
    static constexpr size_t kHandlerBytes = 16 * 1024;
    static constexpr uint32_t kEdges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    // Room for output is reported only after a write that would have blocked. For UDP, where the kernel otherwise
    // reports it for each datagram that leaves the socket; a TCP socket reports it only after such a write anyway.
    static constexpr uint32_t kInputEdges = EPOLLIN | EPOLLRDHUP | EPOLLET;

    Watch() = default;
    Watch(const Watch&) = delete;
    ~Watch() { close(); }

    // Takes ownership of the descriptor; on failure it is closed. With other events it cannot be waited on and is not
    // edge-triggered: park a handler.
    base::Result<void> open(int fd, uint32_t events = kEdges);
    // No coroutine may be waiting. Pending events are ignored.
    void close();
    // As close(), but the owner of the descriptor closes it itself, right away.
    void forget();
    void change_events(uint32_t events);
    int fd() const { return fd_; }

    bool readable() const { return readable_; }
    bool writable() const { return writable_; }
    // The socket failed or both directions ended, according to the events so far.
    bool gone() const { return gone_; }
    // A short read emptied the socket; later input causes a new edge. Not after the end of stream was seen: that edge
    // is consumed.
    void read_fell_short() { readable_ = ended_; }
    void read_would_block() { readable_ = false; }
    // After connect(): not writable until the next edge.
    void await_writable_edge() { writable_ = false; }
    void write_would_block() {
        writable_ = false;
        wants_write_ = true;
        if (arms_output_) change_events(kEdges);
    }
    // Another thread is to write, until write_ended(): an edge that comes before the loop knows of a short write
    // counts. False: there is no room, or the handler has still to be told of it.
    bool lend_write() {
        edge_ = false;
        return writable_ && !(parked_ && wants_write_);
    }
    void write_ended(bool is_short) {
        if (is_short && !edge_) write_would_block();
    }
    // Input is polled at this interval, and no event reports it; 0: events report it, which is the initial mode. The
    // end of the stream is reported at once either way. After much input in one poll the next one comes soon.
    void pace(int64_t interval_ms);
    // For the pacer: wakes the reader, which tries to read.
    void poll();
    void on_much_input() {
        if (pacer_) pacer_->hurry();
    }
    // Wakes the paced reader now, in place of its next poll. False: no reader waits for the next poll.
    bool poll_now();

    // How many bytes may be read now; in a parked handler's on_readable() the rest of kHandlerBytes.
    size_t room_to_read() const;
    void was_read(size_t bytes);

    // Ok when it is readable, or was woken for it: the caller must try.
    base::Result<void> wait_readable(Deadline deadline);
    base::Result<void> wait_writable(Deadline deadline);

    // From now on the stream's end cancels the running coroutine, which waits for something else meanwhile; if the
    // stream has already ended, it is cancelled at once. Until cancel_at_end(false) the stream must not be read.
    void cancel_at_end(bool on);

    void park(ParkedHandler& handler);
    void unpark();
    // The parked handler's on_readable() is called soon, whatever the state of the socket.
    void post_readable();

  private:
    friend struct Reactor;
    void on_events(uint32_t events);
    void call_handler(uint32_t events);

    void cancel_if_ended();

    // While it is parked no coroutine waits on it.
    union {
        Coroutine* reader_ = nullptr;
        ParkedHandler* handler_;
    };
    Coroutine* writer_ = nullptr;
    std::unique_ptr<ReadPacer> pacer_;  // null: events report input
    int fd_ = -1;
    // Initially a socket is assumed to be readable and writable.
    bool readable_ : 1 = true;
    bool writable_ : 1 = true;
    bool ended_ : 1 = false;
    bool gone_ : 1 = false;
    bool wants_write_ : 1 = false;
    bool arms_output_ : 1 = false;  // kInputEdges
    bool parked_ : 1 = false;       // handler_ is valid, not reader_
    bool cancels_ : 1 = false;      // reader_ does not read: it is cancelled at the stream's end
    bool edge_ : 1 = false;         // room for output was reported since lend_write()
};
static_assert(sizeof(Watch) == 32);

base::Result<void> start_reactor();
void stop_reactor();

// For tests and benchmarks.
struct ReactorCounters {
    uint64_t iterations = 0;  // passes of the draining coroutine
    uint64_t events = 0;      // taken from the set
    uint64_t stale = 0;       // for descriptors that were closed meanwhile
};
const ReactorCounters& reactor_counters();

}  // namespace runtime::detail

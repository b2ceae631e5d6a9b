#pragma once
// Internal. One edge-triggered epoll set for every descriptor of ours, each registered once. state-threads polls that
// set's descriptor alone, so a wake-up costs what is ready, not what is waiting. One coroutine drains the set and wakes
// the coroutine, or calls the parked handler, behind each event. Publishers are read by turns instead (read_pacer.h).

#include <sys/epoll.h>

#include <cstdint>

#include "base/result.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/byte_stream.h"

namespace runtime::detail {

class Coroutine;

// A descriptor in the set. It remembers what the edges said, so that no call is made that would return EAGAIN.
// 24 bytes: there are as many as connections.
class Watch {
  public:
    // What a parked handler may read in one call of on_readable(). It is called again soon, after the others.
    static constexpr size_t kHandlerBytes = 16 * 1024;
    static constexpr uint32_t kEdges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

    Watch() = default;
    Watch(const Watch&) = delete;
    ~Watch() { close(); }

    // Takes the descriptor over; on failure it is closed. With other events than kEdges it is not for waiting and not
    // edge-triggered: park a handler.
    base::Result<void> open(int fd, uint32_t events = kEdges);
    // Nobody may be waiting. Events still on their way go nowhere.
    void close();
    // As close(), but somebody else closes the descriptor, right away.
    void forget();
    void change_events(uint32_t events);
    int fd() const { return fd_; }

    bool readable() const { return readable_; }
    bool writable() const { return writable_; }
    // The socket broke or both directions ended, as far as events have told.
    bool gone() const { return gone_; }
    // A short read emptied the socket; what comes later is a new edge. Not so once the end was seen: that edge is
    // spent.
    void read_fell_short() { readable_ = ended_; }
    void read_would_block() { readable_ = false; }
    // After connect(): writable is what the next edge says.
    void await_writable_edge() { writable_ = false; }
    void write_would_block() {
        writable_ = false;
        wants_write_ = true;
    }
    // Input is looked for every so often, and no event tells of it; 0: events do, as from the start. The end of the
    // stream is told at once either way. Who is read much at a turn gets the next one soon.
    void pace(int64_t interval_ms);
    // For the pacer: wakes the reader. Ticks until the next turn, or 0: no more.
    int64_t take_turn();
    void read_much() { hurried_ = true; }

    // How much may be read now: in a parked handler's on_readable() what is left of kHandlerBytes.
    size_t room_to_read() const;
    void was_read(size_t bytes);

    // Ok when it is readable, or was woken for it; check by trying.
    base::Result<void> wait_readable(Deadline deadline);
    base::Result<void> wait_writable(Deadline deadline);

    // From now on the stream's end cancels the running coroutine, which waits for something else meanwhile; that it
    // has ended already, at once. Until false: it is not for reading.
    void cancel_at_end(bool on);

    void park(ParkedHandler& handler);
    void unpark();
    bool parked() const { return parked_; }
    // The parked handler's on_readable() is called soon, whatever the socket says.
    void post_readable();

  private:
    friend struct Reactor;
    void on_events(uint32_t events);
    void call_handler(uint32_t events);

    void cancel_if_ended();

    // While it is parked nobody waits on it.
    union {
        Coroutine* reader_ = nullptr;
        ParkedHandler* handler_;
    };
    Coroutine* writer_ = nullptr;
    int fd_ = -1;
    uint16_t pace_ticks_ = 0;
    // Until something says otherwise a socket is worth a try.
    bool readable_ : 1 = true;
    bool writable_ : 1 = true;
    bool ended_ : 1 = false;
    bool gone_ : 1 = false;
    bool wants_write_ : 1 = false;
    bool hurried_ : 1 = false;     // there was much to read
    bool has_ticket_ : 1 = false;  // at the pacer
    bool parked_ : 1 = false;      // handler_ is in force, not reader_
    bool cancels_ : 1 = false;     // reader_ does not read: it is cancelled at the end
};
static_assert(sizeof(Watch) == 24);

base::Result<void> start_reactor();
void stop_reactor();

// For tests and measurements.
struct ReactorCounters {
    uint64_t turns = 0;   // of the draining coroutine
    uint64_t events = 0;  // taken from the set
    uint64_t stale = 0;   // of descriptors closed meanwhile
};
const ReactorCounters& reactor_counters();

}  // namespace runtime::detail

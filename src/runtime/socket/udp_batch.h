#pragma once
// UdpBatch: a UdpArena on the loop. What was committed within one iteration of the loop is sent at its end by the
// batch's own coroutine, or earlier when there is much of it. Nothing here yields or blocks: while the socket is full
// the arena fills up, and further datagrams are dropped and counted in the socket's UdpStats.

#include <cstdint>

#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/udp.h"
#include "runtime/socket/udp_arena.h"

namespace runtime {

class UdpBatch {
  public:
    static constexpr size_t kFlushBytes = 128 * 1024;  // sent at once when this many are pending

    // The socket must outlive it.
    explicit UdpBatch(UdpSocket& socket);
    ~UdpBatch();  // pending datagrams are dropped; yields until its coroutine has ended
    UdpBatch(const UdpBatch&) = delete;

    // Room for a datagram of at most max_bytes, until commit(). Null: there is no room, and the datagram is counted as
    // lost.
    uint8_t* reserve(size_t max_bytes);
    // The datagram is written; bytes: how much of the room it uses. to: must be reachable by the socket's address
    // family. flow: datagrams of one address and flow keep their order; those of other flows may overtake them within
    // an iteration. source: the local address it is sent from (UdpPacket::destination, UdpSocket::source_for()); 0: the
    // kernel chooses.
    void commit(size_t bytes, const base::Endpoint& to, uint32_t flow = 0, uint16_t source = 0) {
        arena_.commit(bytes, to, flow, source);
        if (!waiting_.is_set()) waiting_.set();
    }
    // Sends what was committed, as far as the socket takes it.
    void flush();

    bool has_pending() const { return !arena_.empty(); }
    // The socket takes nothing at the moment.
    bool full() const { return full_; }
    bool uses_gso() const { return arena_.uses_gso(); }
    // Behaves as on a kernel without UDP_SEGMENT; for tests and benchmarks.
    void forbid_gso() { arena_.forbid_gso(); }
    const UdpArena::Counters& counters() const { return arena_.counters(); }

  private:
    void send_loop();

    UdpSocket& socket_;
    UdpArena arena_;
    bool full_ = false;  // until the loop reports that it is writable
    Event waiting_{"datagrams to send"};
    Task sender_;
};

}  // namespace runtime

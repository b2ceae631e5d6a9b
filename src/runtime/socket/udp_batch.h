#pragma once
// UdpBatch: many datagrams by few system calls. They are written straight into one arena and sent together by sendmmsg.
// Where the kernel can, consecutive datagrams of one size to one address, and one shorter one behind them, are one
// message that the kernel segments (UDP_SEGMENT). A shorter one that was committed before longer ones of other flows is
// moved behind them, so that audio and video of the same moment are one message. What was committed within one loop
// iteration is sent at its end by the batch's own coroutine, or earlier when there is much of it. Nothing here yields
// or blocks: while the socket is full the arena fills up to kArenaBytes, and further datagrams are dropped and counted
// in the socket's UdpStats.

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/udp.h"

namespace runtime {

class UdpBatch {
  public:
    static constexpr size_t kArenaBytes = 1024 * 1024;  // memory is used as it is touched
    static constexpr size_t kFlushBytes = 128 * 1024;   // sent at once when this many are pending
    static constexpr size_t kMaxMessages = 2048;
    static constexpr size_t kMaxAtOnce = 64;    // messages a call
    static constexpr size_t kMaxSegments = 64;  // datagrams a message; the kernel's own limit
    static constexpr size_t kMaxGsoBytes = 60'000;

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
    void commit(size_t bytes, const base::Endpoint& to, uint32_t flow = 0, uint16_t source = 0);
    // Sends what was committed, as far as the socket takes it.
    void flush();

    // The socket takes nothing at the moment.
    bool full() const { return full_; }
    bool uses_gso() const { return gso_; }
    // Behaves as on a kernel without UDP_SEGMENT; for tests and benchmarks.
    void forbid_gso() { gso_ = false; }
    struct Counters {
        uint64_t calls = 0;     // system calls
        uint64_t messages = 0;  // passed to the kernel
        uint64_t full = 0;      // how often the socket was full
        uint64_t split = 0;     // messages whose segments had to be sent one by one
    };
    const Counters& counters() const { return counters_; }

  private:
    struct Piece {
        uint32_t offset;
        uint32_t bytes;
    };
    static constexpr size_t kMaxRuns = 3;
    struct Message {
        base::Endpoint to;
        uint16_t segment;  // bytes of each datagram of the runs
        uint16_t count;    // datagrams in all
        uint16_t source;
        uint32_t start;  // offset of its data in the arena
        uint32_t bytes;  // in total
        uint32_t flow;   // of the first datagram
        uint32_t tail_flow;
        Piece tail;  // a shorter one, which goes last; 0 bytes: there is none
        std::array<Piece, kMaxRuns> runs;
        uint8_t run_count;
    };
    static bool join(Message& message, uint32_t offset, uint32_t bytes, uint32_t flow);
    static bool add_to_runs(Message& message, uint32_t offset, uint32_t bytes);
    void send_loop();
    void prepare(size_t slot, const Message& message);
    void add_control(size_t slot, const Message& message);
    // Returns how many messages from first_ on were sent, or a negative errno for the first.
    int send_some(size_t count);
    bool send_singly(Message& message);
    void drop_first();
    void all_sent();
    void compact();

    UdpSocket& socket_;
    bool v6_;
    bool gso_;
    bool full_ = false;  // until the loop reports that it is writable
    std::unique_ptr<uint8_t[], decltype(&::free)> arena_;
    size_t used_ = 0;
    size_t first_ = 0;  // index in messages_: those before it are sent
    std::vector<Message> messages_;
    struct Slots;
    std::unique_ptr<Slots> slots_;
    Counters counters_;
    Event waiting_{"datagrams to send"};
    Task sender_;
};

}  // namespace runtime

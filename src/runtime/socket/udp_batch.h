#pragma once
// UdpBatch: many datagrams by few calls. They are written straight into one arena, and go out together: by sendmmsg,
// and those that follow each other to one address and are of one size, and one shorter one behind them, as one message
// that the kernel cuts (UDP_SEGMENT), where it can. A shorter one that was committed before longer ones of other flows
// goes behind them, so that audio and video of a moment are one message. What was committed within one turn of the loop
// is sent at its end by the batch's own coroutine, or before when it has become much. Nothing here yields or blocks:
// while the socket is full the arena fills up to kArenaBytes, and what comes then is dropped and counted in the
// socket's UdpStats.

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
    static constexpr size_t kFlushBytes = 128 * 1024;   // so much is sent at once
    static constexpr size_t kMaxMessages = 2048;
    static constexpr size_t kMaxAtOnce = 64;    // messages a call
    static constexpr size_t kMaxSegments = 64;  // datagrams a message; the kernel's own limit
    static constexpr size_t kMaxGsoBytes = 60'000;

    // The socket outlives it.
    explicit UdpBatch(UdpSocket& socket);
    ~UdpBatch();  // what was not sent is dropped; yields until its coroutine has ended
    UdpBatch(const UdpBatch&) = delete;

    // Room for a datagram of that many bytes at most, until commit(). Null: there is none, and it is counted as lost.
    uint8_t* reserve(size_t most_bytes);
    // The datagram is written: bytes of the room. to: reachable by the socket's family. flow: of one address and flow
    // the datagrams keep their order; those of others may overtake them within a turn. source: which of our addresses
    // it comes from (UdpPacket::came_to, UdpSocket::source_for()); 0: the kernel chooses.
    void commit(size_t bytes, const UdpAddress& to, uint32_t flow = 0, uint16_t source = 0);
    // What was committed, as far as the socket takes it.
    void flush();

    // The socket takes nothing at the moment.
    bool full() const { return full_; }
    bool uses_gso() const { return gso_; }
    // As on a kernel that has none; for tests and measurements.
    void forbid_gso() { gso_ = false; }
    struct Counters {
        uint64_t calls = 0;     // of the kernel
        uint64_t messages = 0;  // handed to it
        uint64_t full = 0;      // times that the socket was
        uint64_t split = 0;     // messages whose segments the kernel wanted one by one
    };
    const Counters& counters() const { return counters_; }

  private:
    struct Piece {
        uint32_t offset;
        uint32_t bytes;
    };
    static constexpr size_t kMaxRuns = 3;
    struct Message {
        UdpAddress to;
        uint16_t segment;  // bytes of each datagram of the runs
        uint16_t count;    // datagrams in all
        uint16_t source;
        uint32_t start;  // of all that it has in the arena
        uint32_t bytes;  // in all
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
    // How many of the messages from first_ on went, or a negative errno of the first.
    int send_some(size_t count);
    bool send_singly(Message& message);
    void drop_first();
    void all_sent();
    void compact();

    UdpSocket& socket_;
    bool v6_;
    bool gso_;
    bool full_ = false;  // until the loop says that it is writable
    std::unique_ptr<uint8_t[], decltype(&::free)> arena_;
    size_t used_ = 0;
    size_t first_ = 0;  // of messages_: before it, all are sent
    std::vector<Message> messages_;
    struct Slots;
    std::unique_ptr<Slots> slots_;
    Counters counters_;
    Event waiting_{"datagrams to send"};
    Task sender_;
};

}  // namespace runtime

#pragma once
// UdpArena: many datagrams by few system calls. They are written straight into one buffer and sent together by
// sendmmsg. Where the kernel can, consecutive datagrams of one size to one address, and one shorter one behind them,
// are one message that the kernel segments (UDP_SEGMENT). A shorter one that was committed before longer ones of other
// flows is moved behind them, so that audio and video of the same moment are one message. Nothing here yields or
// blocks. It belongs to one thread: the loop's (udp_batch.h), or one that sends for it.

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "base/endpoint.h"

namespace runtime {

// The socket of an arena.
class UdpOutput {
  public:
    // Returns how many were sent, or a negative errno for the first.
    virtual int send_messages(std::span<mmsghdr> messages) = 0;
    // Datagrams that were sent, or lost: no way, no buffers, no room in the arena.
    virtual void count_sent(size_t sent, size_t lost) = 0;
    // The local address with that number (UdpPacket::destination); null: the kernel chooses.
    virtual const base::IpAddress* source(uint16_t) const { return nullptr; }

  protected:
    ~UdpOutput() = default;
};

class UdpArena {
  public:
    static constexpr size_t kBytes = 1024 * 1024;  // memory is used as it is touched
    static constexpr size_t kMaxMessages = 2048;
    static constexpr size_t kMaxAtOnce = 64;    // messages a call
    static constexpr size_t kMaxSegments = 64;  // datagrams a message; the kernel's own limit
    static constexpr size_t kMaxGsoBytes = 60'000;

    UdpArena();
    ~UdpArena();
    UdpArena(const UdpArena&) = delete;

    // The socket of what is committed next; not while datagrams are pending. v6: IPv4 destinations are sent to as
    // mapped addresses. gso: the kernel knows UDP_SEGMENT.
    void use(UdpOutput& output, bool v6, bool gso);

    // Room for a datagram of at most max_bytes, until commit(). Null: there is none.
    uint8_t* reserve(size_t max_bytes) {
        if (used_ + max_bytes > kBytes || messages_.size() >= kMaxMessages) return nullptr;
        return buffer_.get() + used_;
    }
    // The datagram is written; bytes: how much of the room it uses. flow: datagrams of one address and flow keep their
    // order. source: see UdpOutput::source().
    void commit(size_t bytes, const base::Endpoint& to, uint32_t flow, uint16_t source);
    size_t used() const { return used_; }
    bool empty() const { return first_ == messages_.size(); }

    // Sends what was committed. False: the socket takes no more at the moment, and the rest is kept.
    bool flush();
    // Makes room by moving what a flush() kept.
    void compact();
    void drop_all();  // they are counted as lost

    bool uses_gso() const { return gso_; }
    void forbid_gso() { gso_ = false; }
    struct Counters {
        uint64_t calls = 0;     // system calls
        uint64_t messages = 0;  // passed to the kernel
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
        uint32_t start;  // offset of its data in the buffer
        uint32_t bytes;  // in total
        uint32_t flow;   // of the first datagram
        uint32_t tail_flow;
        Piece tail;  // a shorter one, which goes last; 0 bytes: there is none
        std::array<Piece, kMaxRuns> runs;
        uint8_t run_count;
    };
    static bool join(Message& message, uint32_t offset, uint32_t bytes, uint32_t flow);
    static bool add_to_runs(Message& message, uint32_t offset, uint32_t bytes);
    void prepare(size_t slot, const Message& message);
    void add_control(size_t slot, const Message& message);
    int send_some(size_t count);
    bool handle_error(int error);
    bool send_singly(Message& message);
    void drop_first();

    UdpOutput* output_ = nullptr;
    bool v6_ = false;
    bool gso_ = false;
    std::unique_ptr<uint8_t[], decltype(&::free)> buffer_;
    size_t used_ = 0;
    size_t first_ = 0;  // index in messages_: those before it are sent
    std::vector<Message> messages_;
    struct Slots;
    std::unique_ptr<Slots> slots_;
    Counters counters_;
};

}  // namespace runtime

#pragma once
// UDP over the loop's edge-triggered set: a datagram at a time, or what came together by one call (recvmmsg). Sending
// many: udp_batch.h.

#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ip.h"
#include "base/result.h"
#include "runtime/socket/tcp.h"

namespace runtime {

// Since a socket was bound; or of all, since the start.
struct UdpStats {
    uint64_t received = 0;
    uint64_t sent = 0;
    // Came, and the kernel threw them away: the receive buffer was full (its own counter, SO_MEMINFO; bad checksums and
    // what a filter refused count too). What was lost on the way is not in it.
    uint64_t receive_lost = 0;
    // Were to be sent and were not: no buffers (ENOBUFS), or no room in the socket's own until the deadline. What is
    // lost behind the socket is not in it.
    uint64_t send_lost = 0;

    UdpStats& operator+=(const UdpStats& other);
};

// A peer in 18 bytes; IPv4 as mapped into IPv6.
struct UdpAddress {
    base::IpAddress ip{};
    uint16_t port = 0;
    std::string text() const;  // "192.0.2.1:4711", "[2001:db8::1]:4711"
    friend bool operator==(const UdpAddress&, const UdpAddress&) = default;
};

struct UdpPacket {
    std::span<uint8_t> bytes;
    UdpAddress from;
    // Which of our addresses it came to, a number of the socket's: for an answer from there (UdpBatch::commit()). 0:
    // not asked for (UdpOptions).
    uint16_t came_to = 0;
};

class UdpSocket {
  public:
    virtual ~UdpSocket() = default;
    struct Datagram {
        size_t bytes = 0;
        sockaddr_storage from{};
        socklen_t from_length = 0;
    };
    // One datagram; what does not fit the buffer is cut off.
    virtual base::Result<Datagram> receive(std::span<uint8_t> buffer, Deadline deadline) = 0;
    virtual base::Result<void> send_to(std::span<const uint8_t> bytes, const sockaddr_storage& to, socklen_t to_length,
                                       Deadline deadline) = 0;
    // Yields until something came; then what is there, at most kMaxReceived, in a buffer that all sockets share:
    // valid, and may be written to, until the next yield. A datagram longer than kMaxDatagramBytes is left out and
    // counted as lost.
    virtual base::Result<std::span<const UdpPacket>> receive_batch(Deadline deadline) = 0;
    virtual uint16_t port() const = 0;
    virtual UdpStats stats() = 0;  // asks the kernel

    static constexpr size_t kMaxReceived = 64;
    static constexpr size_t kMaxDatagramBytes = 2048;

    // The number with which to answer that peer from where its datagram came to: 0 where the kernel's routes choose
    // that address anyway, for a number costs a tenth of a sending. Asks the kernel: for once a peer.
    virtual uint16_t source_for(const UdpAddress&, uint16_t came_to) { return came_to; }

    // For UdpBatch.
    virtual const base::IpAddress* source(uint16_t) const { return nullptr; }  // by its number
    virtual bool is_v6() const = 0;        // addresses of IPv4 are sent to as mapped ones
    virtual bool can_segment() const = 0;  // the kernel knows UDP_SEGMENT
    // How many went, or a negative errno of the first.
    virtual int send_messages(std::span<mmsghdr> messages) = 0;
    virtual base::Result<void> wait_writable(Deadline deadline) = 0;
    virtual void write_would_block() = 0;
    virtual void count_sent(size_t sent, size_t lost) = 0;
};

struct UdpOptions {
    // 0: the system's default; the system doubles them, up to rmem_max and wmem_max, beyond which only root gets them.
    int receive_buffer_bytes = 0;
    int send_buffer_bytes = 0;
    // Of a socket that is bound to all addresses: datagrams say which one they came to (UdpPacket::came_to).
    bool tells_came_to = false;
};
base::Result<std::unique_ptr<UdpSocket>> bind_udp(const SocketAddress& address, const UdpOptions& options = {});

size_t udp_sockets();
// All sockets there are and were.
UdpStats udp_totals();

// A second's figures, of all sockets together.
struct UdpRate {
    uint64_t received = 0, sent = 0, receive_lost = 0, send_lost = 0;
    std::string loss() const;  // "loss=(r:49,s:0)": of receiving and of sending, per second
    bool has_loss() const { return receive_lost || send_lost; }
};
// Of the time between two measurements, scaled to a second and rounded up: one lost datagram is never 0.
UdpRate udp_rate_between(const UdpStats& before, const UdpStats& now, int64_t elapsed_ms);
// Takes the figures since it was last called, and keeps them as udp_rate(). For the one that calls it each second.
UdpRate measure_udp();
const UdpRate& udp_rate();

}  // namespace runtime

#pragma once
// UDP over the loop's edge-triggered set: all datagrams that have arrived are received by one call (recvmmsg). For
// sending many see udp_batch.h; for a port that many share see datagram_port.h.

#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "runtime/socket/tcp.h"
#include "runtime/socket/udp_arena.h"

namespace runtime {

// Counted since a socket was bound; the totals of all sockets since the start.
struct UdpStats {
    uint64_t received = 0;
    uint64_t sent = 0;
    // Arrived, but the kernel dropped them: the receive buffer was full (the kernel's counter, SO_MEMINFO; bad
    // checksums and datagrams that a filter refused count too). Does not include losses in the network.
    uint64_t receive_lost = 0;
    // Could not be sent: no buffers (ENOBUFS), or no room in the socket's own buffer until the deadline. Does not
    // include losses behind the socket.
    uint64_t send_lost = 0;

    UdpStats& operator+=(const UdpStats& other);
};

struct UdpPacket {
    std::span<uint8_t> bytes;
    base::Endpoint from;
    // The local address it was sent to, as a number of this socket, so that the answer can be sent from there
    // (UdpBatch::commit()). 0: not requested (UdpOptions).
    uint16_t destination = 0;
};

class UdpSocket : public UdpOutput {
  public:
    virtual ~UdpSocket() = default;
    // One datagram, to an address that the socket's family can reach.
    virtual base::Result<void> send_to(std::span<const uint8_t> bytes, const base::Endpoint& to, Deadline deadline) = 0;
    // Yields until a datagram arrives; then returns all that are there, at most kMaxReceived, in a buffer that all
    // sockets share: valid, and may be written to, until the next yield. A datagram longer than kMaxDatagramBytes is
    // skipped and counted as lost.
    virtual base::Result<std::span<const UdpPacket>> receive_batch(Deadline deadline) = 0;
    virtual uint16_t port() const = 0;
    virtual UdpStats stats() = 0;  // makes a system call

    static constexpr size_t kMaxReceived = 64;
    static constexpr size_t kMaxDatagramBytes = 2048;

    // The number to send with to that peer, so that it is answered from the address its datagram came to. 0 where the
    // kernel's routes choose that address anyway, because a number makes sending about a tenth more expensive. Makes
    // system calls: call it once per peer.
    virtual uint16_t source_for(const base::Endpoint&, uint16_t destination) { return destination; }

    // Of a datagram that another process has received with this socket: the number of the local address that it came
    // to.
    virtual uint16_t number_of(const base::IpAddress& /*destination*/) { return 0; }
    // The address of that number; null: it is not known.
    virtual const base::IpAddress* address_of(uint16_t /*destination*/) const { return nullptr; }

    // For a thread that sends from it (runtime/senders); it stays the socket's.
    virtual int fd() const = 0;

    // For UdpBatch.
    virtual bool is_v6() const = 0;        // IPv4 destinations are sent to as mapped addresses
    virtual bool can_segment() const = 0;  // the kernel knows UDP_SEGMENT
    virtual base::Result<void> wait_writable(Deadline deadline) = 0;
    virtual void write_would_block() = 0;
};

struct UdpOptions {
    // 0: the system's default. The system doubles the values, up to rmem_max and wmem_max, which only root may exceed.
    int receive_buffer_bytes = 0;
    int send_buffer_bytes = 0;
    // For a socket that is bound to all addresses: datagrams report the one they came to (UdpPacket::destination).
    bool reports_destination = false;
    // Clients come to it: it is one of client_sockets() (shared_sockets.h).
    bool for_clients = false;
    // For a socket that is bound to a multicast group: the name of the interface on which it joins the group (empty: as
    // the kernel's routes say), and the only sender that it receives from (empty: any). kSystem: it cannot join.
    // For any other socket: the interface by which it sends to groups, and how many routers these datagrams may pass
    // (0: the system's default, none).
    std::string multicast_interface{};
    std::string multicast_source{};
    uint8_t multicast_ttl = 0;
};
base::Result<std::unique_ptr<UdpSocket>> bind_udp(const SocketAddress& address, const UdpOptions& options = {});

size_t udp_sockets();
// All open and closed sockets.
UdpStats udp_totals();

// Counts of one second, of all sockets together.
struct UdpRate {
    uint64_t received = 0, sent = 0, receive_lost = 0, send_lost = 0;
    std::string loss() const;  // "loss=(r:49,s:0)": of receiving and of sending, per second
    bool has_loss() const { return receive_lost || send_lost; }
};
// For the time between two measurements, scaled to a second and rounded up: one lost datagram is never 0.
UdpRate udp_rate_between(const UdpStats& before, const UdpStats& now, int64_t elapsed_ms);
// Computes the rate since the previous call, and stores it for udp_rate(). Called once a second, from one caller only.
UdpRate measure_udp();
const UdpRate& udp_rate();

}  // namespace runtime

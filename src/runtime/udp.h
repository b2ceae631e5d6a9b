#pragma once
// UDP over the loop's edge-triggered set. Batching (recvmmsg, GSO) enters with its first user.

#include <netinet/in.h>

#include <memory>
#include <span>

#include "base/result.h"
#include "runtime/tcp.h"

namespace runtime {

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
    virtual uint16_t port() const = 0;
};

base::Result<std::unique_ptr<UdpSocket>> bind_udp(const SocketAddress& address);

}  // namespace runtime

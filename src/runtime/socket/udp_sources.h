#pragma once
// Internal. For a UDP socket that listens on all addresses of the machine and answers from the address that the request
// was sent to (IP_PKTINFO, RFC 3542's IPV6_PKTINFO). Otherwise the kernel chooses the source address by its routes, and
// the client receives the answer from an address it does not know. The addresses have small numbers, so that a datagram
// carries two bytes instead of sixteen.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/endpoint.h"

namespace runtime::detail {

// UDP_SEGMENT, which older headers do not have; Linux does since 4.18.
inline constexpr int kUdpSegment = 103;

class UdpSources {
  public:
    static constexpr size_t kControlBytes = CMSG_SPACE(sizeof(in6_pktinfo));
    // A machine has few addresses, unless whole networks are routed to it: further ones get no number.
    static constexpr size_t kMaxAddresses = 256;

    // For a bound socket. False: it is bound to one address, or the kernel does not report the destination.
    bool open(int fd, bool v6);
    bool is_open() const { return open_; }
    // The number of a received message's destination. 0: not reported, or kMaxAddresses is reached.
    uint16_t number_of(const msghdr& message);
    uint16_t number_of(const base::IpAddress& destination);
    // Null: not a known local address.
    const base::IpAddress* find(uint16_t number) const {
        return number == 0 || number > addresses_.size() ? nullptr : &addresses_[number - 1];
    }
    // Whether the kernel's routes would choose this address anyway: then a datagram need not specify it, which would
    // make sending about a tenth more expensive. Makes system calls.
    bool is_usual(const base::Endpoint& to, uint16_t number) const;

  private:
    bool open_ = false;
    std::vector<base::IpAddress> addresses_;
};

// Writes the control message that sets a datagram's source address into room of UdpSources::kControlBytes. Returns its
// size.
size_t write_source(cmsghdr* room, bool v6, const base::IpAddress& source);

}  // namespace runtime::detail

#pragma once
// Internal. A UDP socket that listens on all addresses of the machine, and answers from the one that it was asked at
// (IP_PKTINFO, RFC 3542's IPV6_PKTINFO): else the kernel takes the one of its route, and who asked another hears from a
// stranger. The addresses have small numbers, so that a datagram carries two bytes of it and not sixteen.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ip.h"

namespace runtime::detail {

// UDP_SEGMENT, which older headers do not have; Linux does since 4.18.
inline constexpr int kUdpSegment = 103;

class UdpSources {
  public:
    static constexpr size_t kControlBytes = CMSG_SPACE(sizeof(in6_pktinfo));
    // A machine has few addresses, unless whole networks are routed to it: further ones get no number.
    static constexpr size_t kMost = 256;

    // For a bound socket. False: it has one address, or the kernel does not tell.
    bool open(int fd, bool v6);
    bool is_open() const { return open_; }
    // Of a received message. 0: not told, or kMost.
    uint16_t number_of(const msghdr& message);
    // Null: none of ours.
    const base::IpAddress* find(uint16_t number) const {
        return number == 0 || number > addresses_.size() ? nullptr : &addresses_[number - 1];
    }
    // Whether the kernel would take this one by itself, of its routes: then a datagram need not say it, which costs a
    // tenth of its sending. Asks the kernel.
    bool is_usual(const base::IpAddress& to, uint16_t port, uint16_t number) const;

  private:
    bool open_ = false;
    std::vector<base::IpAddress> addresses_;
};

// The control message that says where a datagram is to come from, in room of UdpSources::kControlBytes; its size.
size_t write_source(cmsghdr* room, bool v6, const base::IpAddress& source);

}  // namespace runtime::detail

#pragma once
// Internal. Conversion of socket addresses between text and the kernel's form.

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "runtime/socket/tcp.h"

namespace runtime::detail {

struct RawAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }
};

base::Result<RawAddress> raw_address(const std::string& ip, uint16_t port);
uint16_t local_port(int fd);

// A peer's address in 20 bytes; IPv4 as IPv4-mapped IPv6.
struct PeerAddress {
    in6_addr ip{};
    uint16_t port = 0;

    static PeerAddress from(const sockaddr_storage& address);
    std::string ip_text() const;
    std::string text() const;
};

// "[::1]:80" for an IPv6 address, else "127.0.0.1:80".
std::string address_text(const std::string& ip, uint16_t port);

// A socket bound to the address: non-blocking, closed on exec, reusable. An empty ip binds IPv6 and IPv4, or IPv4 alone
// where the system has no IPv6.
base::Result<int> bound_socket(const SocketAddress& address, int type);

}  // namespace runtime::detail

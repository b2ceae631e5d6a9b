#pragma once
// Internal. Conversion of socket addresses between values and the kernel's form.

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "base/endpoint.h"
#include "runtime/socket/tcp.h"

namespace runtime::detail {

// For a socket of IPv6 (v6), where IPv4 is mapped, or of IPv4. Returns the length.
socklen_t write_address(const base::Endpoint& endpoint, bool v6, sockaddr_in6& out);
base::Endpoint endpoint_of(const sockaddr_in6& address);
base::Endpoint local_endpoint(int fd);

struct RawAddress {
    sockaddr_in6 storage{};  // IPv4 fits in it, too
    socklen_t length = sizeof(sockaddr_in6);

    RawAddress() = default;
    RawAddress(const base::Endpoint& endpoint, bool v6) : length(write_address(endpoint, v6, storage)) {}
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const { return storage.sin6_family; }
};

// "[::1]:80" for an IPv6 address, else "127.0.0.1:80", "host:80".
std::string address_text(const std::string& host, uint16_t port);

// A socket bound to the address: non-blocking, closed on exec, reusable. An empty ip binds IPv6 and IPv4, or IPv4 alone
// where the system has no IPv6. An inherited socket of that address comes first (shared_sockets.h).
base::Result<int> bound_socket(const SocketAddress& address, int type);

}  // namespace runtime::detail

#include "runtime/socket/address.h"

#include <unistd.h>

#include <charconv>
#include <cstring>

#include "runtime/socket/shared_sockets.h"

namespace runtime {
namespace detail {

socklen_t write_address(const base::Endpoint& endpoint, bool v6, sockaddr_in6& out) {
    out = {};
    if (v6) {
        out.sin6_family = AF_INET6;
        out.sin6_port = htons(endpoint.port);
        std::memcpy(&out.sin6_addr, endpoint.ip.bytes.data(), 16);
        return sizeof(sockaddr_in6);
    }
    auto& v4 = reinterpret_cast<sockaddr_in&>(out);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&v4.sin_addr, endpoint.ip.bytes.data() + 12, 4);
    return sizeof(sockaddr_in);
}

base::Endpoint endpoint_of(const sockaddr_in6& address) {
    base::Endpoint endpoint;
    if (address.sin6_family == AF_INET6) {
        std::memcpy(endpoint.ip.bytes.data(), &address.sin6_addr, 16);
        endpoint.port = ntohs(address.sin6_port);
    } else if (address.sin6_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        endpoint.ip.bytes[10] = endpoint.ip.bytes[11] = 0xff;
        std::memcpy(endpoint.ip.bytes.data() + 12, &v4.sin_addr, 4);
        endpoint.port = ntohs(v4.sin_port);
    }
    return endpoint;
}

base::Endpoint local_endpoint(int fd) {
    RawAddress raw;
    return getsockname(fd, raw.get(), &raw.length) == 0 ? endpoint_of(raw.storage) : base::Endpoint();
}

std::string address_text(const std::string& host, uint16_t port) {
    return host.find(':') == host.npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

namespace {
base::Result<int> bind_one(const RawAddress& raw, int type, const SocketAddress& wanted) {
    const std::string name = wanted.text();
    const int fd = socket(raw.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return base::fail_errno(fmt::format("opening a socket for {}", name), errno);
    const int on = 1;
    const int only = wanted.ipv6_only ? 1 : 0;
    // Not for UDP: another process could take over the port, and its datagrams.
    if (type == SOCK_STREAM) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (type == SOCK_STREAM && wanted.reuse_port) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    if (raw.family() == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    if (bind(fd, raw.get(), raw.length) < 0) {
        const int error = errno;
        close(fd);
        const bool may_share = error == EADDRINUSE && type == SOCK_STREAM;
        const char* hint = may_share ? " (several servers share a port with `reuse_port on;` in each of them)" : "";
        return base::fail_errno(fmt::format("binding to {}{}", name, hint), error);
    }
    return fd;
}
}  // namespace

base::Result<int> bound_socket(const SocketAddress& address, int type) {
    if (const auto inherited = take_inherited_socket(address, type)) return *inherited;
    if (!address.ip.empty()) {
        const auto ip = base::IpAddress::parse(address.ip);
        if (!ip) return base::fail(base::Code::kOther, fmt::format("\"{}\" is not an IP address", address.ip));
        return bind_one(RawAddress({*ip, address.port}, !ip->is_v4()), type, address);
    }
    SocketAddress every = address;
    every.ipv6_only = false;
    auto both = bind_one(RawAddress({{}, address.port}, true), type, every);
    if (both) return both;
    const int error = both.error().system_errno();
    if (error != EAFNOSUPPORT && error != EADDRNOTAVAIL) return both;
    return bind_one(RawAddress({{}, address.port}, false), type, every);
}

}  // namespace detail

base::Result<void> try_to_bind(const SocketAddress& address, int type) {
    close(TRY(detail::bound_socket(address, type)));
    return {};
}

base::Result<SocketAddress> SocketAddress::parse(std::string_view text) {
    const auto bad = [&] {
        return base::fail(base::Code::kConfig,
                          fmt::format("\"{}\" is no address: write PORT, IP:PORT or [IPV6]:PORT", text));
    };
    SocketAddress address;
    std::string_view port = text;
    if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
        std::string_view ip = text.substr(0, colon);
        port = text.substr(colon + 1);
        const bool brackets = ip.starts_with('[') && ip.ends_with(']');
        if (brackets) ip = ip.substr(1, ip.size() - 2);
        if (brackets != (ip.find(':') != std::string_view::npos)) return bad();
        address.ip = ip;
        if (!address.ip.empty() && !base::IpAddress::parse(address.ip)) return bad();
    }
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (port.empty() || error != std::errc() || end != port.data() + port.size()) return bad();
    return address;
}

std::string SocketAddress::text() const {
    return ip.empty() ? fmt::format("port {}", port) : detail::address_text(ip, port);
}

}  // namespace runtime

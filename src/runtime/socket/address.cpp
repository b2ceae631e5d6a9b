#include "runtime/socket/address.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

namespace runtime {
namespace detail {

base::Result<RawAddress> raw_address(const std::string& ip, uint16_t port) {
    RawAddress raw;
    auto* v4 = reinterpret_cast<sockaddr_in*>(&raw.storage);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&raw.storage);
    if (inet_pton(AF_INET, ip.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        raw.length = sizeof *v4;
    } else if (inet_pton(AF_INET6, ip.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        raw.length = sizeof *v6;
    } else {
        return base::fail(base::Code::kOther, fmt::format("\"{}\" is not an IP address", ip));
    }
    return raw;
}

uint16_t local_port(int fd) {
    RawAddress raw;
    raw.length = sizeof raw.storage;
    if (getsockname(fd, raw.get(), &raw.length) < 0) return 0;
    return PeerAddress::from(raw.storage).port;
}

PeerAddress PeerAddress::from(const sockaddr_storage& address) {
    PeerAddress peer;
    if (address.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        peer.ip.s6_addr[10] = peer.ip.s6_addr[11] = 0xff;
        std::memcpy(peer.ip.s6_addr + 12, &v4.sin_addr, 4);
        peer.port = ntohs(v4.sin_port);
    } else if (address.ss_family == AF_INET6) {
        const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
        peer.ip = v6.sin6_addr;
        peer.port = ntohs(v6.sin6_port);
    }
    return peer;
}

std::string PeerAddress::ip_text() const {
    char text[INET6_ADDRSTRLEN] = "";
    if (IN6_IS_ADDR_V4MAPPED(&ip)) {
        inet_ntop(AF_INET, ip.s6_addr + 12, text, sizeof text);
    } else {
        inet_ntop(AF_INET6, &ip, text, sizeof text);
    }
    return text;
}

std::string PeerAddress::text() const { return address_text(ip_text(), port); }

std::string address_text(const std::string& ip, uint16_t port) {
    return ip.find(':') == std::string::npos ? fmt::format("{}:{}", ip, port) : fmt::format("[{}]:{}", ip, port);
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
    if (!address.ip.empty()) return bind_one(TRY(raw_address(address.ip, address.port)), type, address);
    SocketAddress every = address;
    every.ipv6_only = false;
    auto both = bind_one(TRY(raw_address("::", address.port)), type, every);
    if (both) return both;
    const int error = both.error().system_errno();
    if (error != EAFNOSUPPORT && error != EADDRNOTAVAIL) return both;
    return bind_one(TRY(raw_address("0.0.0.0", address.port)), type, every);
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
        if (!address.ip.empty() && !detail::raw_address(address.ip, 0)) return bad();
    }
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (port.empty() || error != std::errc() || end != port.data() + port.size()) return bad();
    return address;
}

std::string SocketAddress::text() const {
    return ip.empty() ? fmt::format("port {}", port) : detail::address_text(ip, port);
}

}  // namespace runtime

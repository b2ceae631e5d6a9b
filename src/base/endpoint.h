#pragma once
// Endpoint: an IP address and a port, as of a socket or a peer: a value of 18 bytes that can be compared and hashed. No
// host names, no zones, no sockets (runtime/socket/address.h converts it for the kernel).

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "base/ip.h"

namespace base {

struct Endpoint {
    IpAddress ip{};  // IPv4 as IPv4-mapped IPv6
    uint16_t port = 0;

    bool is_v4() const { return ip.is_v4(); }
    // "192.0.2.1:80", "[2001:db8::1]:80".
    std::string text() const {
        return is_v4() ? fmt::format("{}:{}", ip.text(), port) : fmt::format("[{}]:{}", ip.text(), port);
    }
    friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

}  // namespace base

template <>
struct std::hash<base::Endpoint> {
    // Peers choose their ports and many IPv6 addresses: a large table keyed by this must limit its entries per peer.
    size_t operator()(const base::Endpoint& endpoint) const {
        uint64_t a, b;
        std::memcpy(&a, endpoint.ip.bytes.data(), 8);
        std::memcpy(&b, endpoint.ip.bytes.data() + 8, 8);
        uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
        h = (h ^ (h >> 32) ^ endpoint.port) * 0xc4ceb9fe1a85ec53u;
        return h ^ (h >> 29);
    }
};

#pragma once
// A transport address for STUN and ICE: IP (IPv4 as mapped into IPv6) and port, 18 bytes. A value that can be compared
// and hashed; no sockets.

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "base/ip.h"

namespace stun {

struct Address {
    base::IpAddress ip;
    uint16_t port = 0;

    bool is_v4() const { return ip.is_v4(); }
    // "192.0.2.1:80", "[2001:db8::1]:80".
    std::string text() const {
        return is_v4() ? fmt::format("{}:{}", ip.text(), port) : fmt::format("[{}]:{}", ip.text(), port);
    }
    friend auto operator<=>(const Address&, const Address&) = default;
};

}  // namespace stun

template <>
struct std::hash<stun::Address> {
    // Peers choose their ports and many IPv6 addresses: a large table keyed by this must limit its entries per peer.
    size_t operator()(const stun::Address& address) const {
        uint64_t a, b;
        std::memcpy(&a, address.ip.bytes.data(), 8);
        std::memcpy(&b, address.ip.bytes.data() + 8, 8);
        uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
        h = (h ^ (h >> 32) ^ address.port) * 0xc4ceb9fe1a85ec53u;
        return h ^ (h >> 29);
    }
};

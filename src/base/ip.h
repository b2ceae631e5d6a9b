#pragma once
// IP addresses and networks (CIDR, RFC 4632 and 4291) as values: text in, text out, comparisons. IPv4 is kept as
// IPv4-mapped IPv6, so that 192.0.2.1 and ::ffff:192.0.2.1 are one address. No host names, no zones, no sockets.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace base {

struct IpAddress {
    std::array<uint8_t, 16> bytes{};

    // "192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1". No surrounding text; no leading zeros in IPv4, which some parsers
    // read as octal.
    static std::optional<IpAddress> parse(std::string_view text);
    // IPv4 in dotted form; IPv6 as in RFC 5952.
    std::string text() const;
    bool is_v4() const;
    bool is_loopback() const;  // 127.0.0.0/8 and ::1
    friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

class IpNetwork {
  public:
    IpNetwork() = default;  // everything, IPv4 and IPv6
    // prefix_bits: of the 128. Bits after it are cleared. No IPv6 network contains an IPv4 address, not even ::/0.
    IpNetwork(const IpAddress& address, unsigned prefix_bits);

    // "10.0.0.0/8", "2001:db8::/32"; a plain address is a network of one. Bits after the prefix may be set.
    static std::optional<IpNetwork> parse(std::string_view text);
    std::string text() const;
    bool contains(const IpAddress& address) const;
    bool is_everything() const { return everything_; }
    const IpAddress& address() const { return address_; }  // the first address of the network
    friend bool operator==(const IpNetwork&, const IpNetwork&) = default;

  private:
    IpAddress address_;
    uint8_t prefix_bits_ = 0;
    bool everything_ = true;
};

}  // namespace base

#include "base/ip.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace base {
namespace {

constexpr unsigned kMappedBits = 96;  // ::ffff:0:0/96 is IPv4

std::array<uint8_t, 16> mapped(const std::array<uint8_t, 4>& v4) {
    return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, v4[0], v4[1], v4[2], v4[3]};
}

// A number without sign or leading zeros.
std::optional<unsigned> number(std::string_view text, unsigned most) {
    unsigned value = 0;
    if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
    for (char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    if (value > most) return std::nullopt;
    return value;
}

std::optional<std::array<uint8_t, 4>> parse_v4(std::string_view text) {
    std::array<uint8_t, 4> out{};
    for (size_t i = 0; i < 4; ++i) {
        size_t dot = text.find('.');
        if ((dot == text.npos) != (i == 3)) return std::nullopt;
        auto part = number(text.substr(0, dot), 255);
        if (!part) return std::nullopt;
        out[i] = static_cast<uint8_t>(*part);
        text.remove_prefix(dot == text.npos ? text.size() : dot + 1);
    }
    return out;
}

// Parses one side of "::": groups of four hex digits, the last two optionally as IPv4. False: malformed.
bool parse_groups(std::string_view text, bool may_end_in_v4, std::array<uint8_t, 16>& out, size_t& size) {
    size = 0;
    while (!text.empty()) {
        size_t colon = text.find(':');
        std::string_view group = text.substr(0, colon);
        const bool last = colon == text.npos;
        if (last && may_end_in_v4 && group.find('.') != group.npos) {
            auto v4 = parse_v4(group);
            if (!v4 || size + 4 > out.size()) return false;
            std::ranges::copy(*v4, out.begin() + static_cast<ptrdiff_t>(size));
            size += 4;
            return true;
        }
        unsigned value = 0;
        auto [end, error] = std::from_chars(group.data(), group.data() + group.size(), value, 16);
        if (group.empty() || group.size() > 4 || error != std::errc() || end != group.data() + group.size())
            return false;
        if (size + 2 > out.size()) return false;
        out[size++] = static_cast<uint8_t>(value >> 8);
        out[size++] = static_cast<uint8_t>(value);
        if (last) return true;
        text.remove_prefix(colon + 1);
        if (text.empty()) return false;  // a colon at the end
    }
    return true;
}

std::optional<std::array<uint8_t, 16>> parse_v6(std::string_view text) {
    std::array<uint8_t, 16> head{}, tail{};
    size_t head_size = 0, tail_size = 0;
    const size_t gap = text.find("::");
    if (gap == text.npos) {
        if (!parse_groups(text, true, head, head_size) || head_size != head.size()) return std::nullopt;
        return head;
    }
    if (!parse_groups(text.substr(0, gap), false, head, head_size)) return std::nullopt;
    if (!parse_groups(text.substr(gap + 2), true, tail, tail_size)) return std::nullopt;
    if (head_size + tail_size > head.size() - 2) return std::nullopt;
    std::copy_n(tail.begin(), tail_size, head.end() - static_cast<ptrdiff_t>(tail_size));
    return head;
}

// The longest run of two or more zero groups, the first of equals.
std::pair<size_t, size_t> longest_gap(const std::array<uint16_t, 8>& groups) {
    size_t best = 0, best_size = 1;
    for (size_t i = 0; i < groups.size(); ++i) {
        size_t size = 0;
        while (i + size < groups.size() && groups[i + size] == 0) ++size;
        if (size > best_size) {
            best = i;
            best_size = size;
        }
    }
    return {best, best_size > 1 ? best_size : 0};
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    if (text.find(':') == text.npos) {
        auto v4 = parse_v4(text);
        if (!v4) return std::nullopt;
        return IpAddress{mapped(*v4)};
    }
    auto v6 = parse_v6(text);
    if (!v6) return std::nullopt;
    return IpAddress{*v6};
}

bool IpAddress::is_v4() const {
    return std::all_of(bytes.begin(), bytes.begin() + 10, [](uint8_t b) { return b == 0; }) && bytes[10] == 0xff &&
           bytes[11] == 0xff;
}

bool IpAddress::is_loopback() const {
    if (is_v4()) return bytes[12] == 127;
    return std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t b) { return b == 0; }) && bytes[15] == 1;
}

std::string IpAddress::text() const {
    if (is_v4()) return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
    std::array<uint16_t, 8> groups;
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
    auto [gap, gap_size] = longest_gap(groups);
    std::string out;
    for (size_t i = 0; i < groups.size();) {
        if (gap_size && i == gap) {
            out += "::";
            i += gap_size;
            continue;
        }
        if (!out.empty() && !out.ends_with(':')) out += ':';
        out += fmt::format("{:x}", groups[i++]);
    }
    return out;
}

IpNetwork::IpNetwork(const IpAddress& address, unsigned prefix_bits)
    : address_(address), prefix_bits_(static_cast<uint8_t>(std::min(prefix_bits, 128u))), everything_(false) {
    for (unsigned i = 0; i < address_.bytes.size(); ++i) {
        const unsigned kept = prefix_bits_ > i * 8 ? std::min(prefix_bits_ - i * 8, 8u) : 0;
        address_.bytes[i] &= static_cast<uint8_t>(0xff00 >> kept);
    }
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
    const size_t slash = text.find('/');
    auto address = IpAddress::parse(text.substr(0, slash));
    if (!address) return std::nullopt;
    // According to the notation: a mapped address in IPv6 form has a prefix of 128.
    const bool v4 = text.find(':') == text.npos;
    if (slash == text.npos) return IpNetwork(*address, 128);
    auto bits = number(text.substr(slash + 1), v4 ? 32 : 128);
    if (!bits) return std::nullopt;
    return IpNetwork(*address, *bits + (v4 ? kMappedBits : 0));
}

std::string IpNetwork::text() const {
    const bool v4 = address_.is_v4() && prefix_bits_ >= kMappedBits;
    if (prefix_bits_ == 128) return address_.text();
    return fmt::format("{}/{}", address_.text(), prefix_bits_ - (v4 ? kMappedBits : 0));
}

bool IpNetwork::contains(const IpAddress& address) const {
    if (everything_) return true;
    const bool v4 = address_.is_v4() && prefix_bits_ >= kMappedBits;
    if (v4 != address.is_v4()) return false;
    return IpNetwork(address, prefix_bits_).address_ == address_;
}

}  // namespace base

#pragma once
// A figure of a chart as 16 bits: exact below 128, above it with 7 significant bits (less than 0.8 % off). Figures that
// are near each other have codes that are near each other, so that differences of codes are small. Pure.

#include <bit>
#include <cstdint>

namespace service::api {

constexpr uint16_t encode_figure(uint64_t value) {
    if (value < 128) return static_cast<uint16_t>(value);
    const int shift = std::bit_width(value) - 7;
    const uint64_t rounded = (value >> shift) + (value >> (shift - 1) & 1);  // 64 to 128: 128 is 64 of the next shift
    return static_cast<uint16_t>(static_cast<uint64_t>(shift) * 64 + rounded);
}

constexpr uint64_t decode_figure(uint16_t code) {
    if (code < 128) return code;
    const int shift = code / 64 - 1;
    const uint64_t figure = code % 64 + 64u;
    return shift > 57 ? UINT64_MAX : figure << shift;
}

}  // namespace service::api

#include "protocol/ts/crc32.h"

#include <array>

namespace ts {
namespace {

constexpr auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t value = i << 24;
        for (int bit = 0; bit < 8; ++bit) value = value << 1 ^ (value >> 31 ? 0x04c11db7u : 0);
        table[i] = value;
    }
    return table;
}();

}  // namespace

uint32_t crc32(std::span<const uint8_t> bytes) {
    uint32_t value = UINT32_MAX;
    for (uint8_t byte : bytes) value = value << 8 ^ kTable[value >> 24 ^ byte];
    return value;
}

}  // namespace ts

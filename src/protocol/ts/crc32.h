#pragma once
// The CRC of sections (ISO/IEC 13818-1, annex A): polynomial 0x04c11db7, initial value all ones, no reflection. The CRC
// over a section including its CRC field is 0.

#include <cstdint>
#include <span>

namespace ts {

uint32_t crc32(std::span<const uint8_t> bytes);

}  // namespace ts

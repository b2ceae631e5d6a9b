#pragma once
// Redundant audio (RFC 2198): a payload that has those of the packets before it too, so that a packet that is lost
// comes with one of the next.

#include <cstdint>
#include <span>
#include <string>

#include "base/slice.h"

namespace rtp {

// An older packet's payload.
struct RedBlock {
    std::span<const uint8_t> payload{};
    uint32_t timestamp_offset = 0;  // how much older, in ticks
};

inline constexpr size_t kMaxRedBlockBytes = 1023;           // 10 bits
inline constexpr uint32_t kMaxRedTimestampOffset = 0x3fff;  // 14 bits

// The payload of a packet whose own is `primary`, of any size; blocks: the older ones, the oldest first, each within
// these limits. payload_type: of all of them.
base::Slice red_payload(uint8_t payload_type, std::span<const RedBlock> blocks, std::span<const uint8_t> primary);

}  // namespace rtp

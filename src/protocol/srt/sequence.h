#pragma once
// The numbers of SRT that wrap (draft-sharabayko-srt, 3.1): sequence numbers of 31 bits, message numbers of 26 bits
// that leave out 0, timestamps of 32 bits in us. Within the server they are int64 values that never wrap: a number of
// the wire is extended to the value nearest to one that is known. The initial sequence number keeps its value.

#include <cstdint>

#include "protocol/srt/packet.h"

namespace srt {

// A deadline that never comes, in us.
inline constexpr int64_t kNever = INT64_MAX;

inline constexpr uint32_t wire_sequence(int64_t sequence) { return static_cast<uint32_t>(sequence) & kMaxSequence; }
inline constexpr uint32_t wire_timestamp(int64_t us) { return static_cast<uint32_t>(us); }

// Steps from b to a, -2^30 to 2^30 - 1.
inline constexpr int32_t sequence_difference(uint32_t a, uint32_t b) { return static_cast<int32_t>((a - b) << 1) >> 1; }

// `near` is extended already; the result lies within 2^30 of it, and may be negative.
inline constexpr int64_t unwrap_sequence(uint32_t wire, int64_t near) {
    return near + sequence_difference(wire, wire_sequence(near));
}
// Within 2^31 us of `near`.
inline constexpr int64_t unwrap_timestamp(uint32_t wire, int64_t near) {
    return near + static_cast<int32_t>(wire - wire_timestamp(near));
}

// The message number of a packet that is a whole message, as all are in live mode. Receivers take any first number.
inline constexpr uint32_t message_number(int64_t index) { return static_cast<uint32_t>(index % kMaxMessage) + 1; }

// Extended numbers first to last, both included.
struct ExtendedRange {
    int64_t first = 0, last = -1;
    int64_t size() const { return last - first + 1; }
    bool contains(int64_t number) const { return first <= number && number <= last; }
    bool operator==(const ExtendedRange&) const = default;
};
inline constexpr SequenceRange wire_range(ExtendedRange range) {
    return {wire_sequence(range.first), wire_sequence(range.last)};
}

}  // namespace srt

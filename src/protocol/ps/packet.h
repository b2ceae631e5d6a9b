#pragma once
// The parts of a program stream (ISO/IEC 13818-1, 2.5.3): each begins with a start code, whose last byte says what it
// is. Video in annex B has no start code from kEnd on.

#include <cstddef>
#include <cstdint>

namespace ps {

enum StartCode : uint8_t {
    kEnd = 0xb9,
    kPack = 0xba,
    kSystemHeader = 0xbb,
    kStreamMap = 0xbc,
};

constexpr bool is_audio(uint8_t stream_id) { return (stream_id & 0xe0) == 0xc0; }
constexpr bool is_video(uint8_t stream_id) { return (stream_id & 0xf0) == 0xe0; }

inline constexpr size_t kStartCodeSize = 4;
// With the length that all but kPack and kEnd have behind it.
inline constexpr size_t kPrefixSize = 6;
// The header of a pack, before stuffing of up to 7 bytes.
inline constexpr size_t kPackSize = 14;
// The length field of a map; longer ones are malformed (2.5.4.2).
inline constexpr size_t kMaxMapLength = 1018;

}  // namespace ps

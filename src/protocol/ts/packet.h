#pragma once
// The transport packet (ISO/IEC 13818-1, 2.4.3): sizes, the PIDs of our streams, and the fields that do not end at byte
// boundaries: the header, the PCR and the timestamps. Times here are ticks of 90 kHz, of which 33 bits are written.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace ts {

inline constexpr size_t kPacketSize = 188;
inline constexpr size_t kPayloadSize = 184;
inline constexpr uint8_t kSyncByte = 0x47;

inline constexpr uint16_t kPatPid = 0;
inline constexpr uint16_t kPmtPid = 0x1000;
inline constexpr uint16_t kVideoPid = 0x100;
inline constexpr uint16_t kAudioPid = 0x101;
inline constexpr uint16_t kNullPid = 0x1fff;

inline constexpr int64_t kTicksPerSecond = 90'000;
inline constexpr uint64_t kTickMask = (uint64_t{1} << 33) - 1;

// Flags of an adaptation field.
inline constexpr uint8_t kDiscontinuity = 0x80;
inline constexpr uint8_t kRandomAccess = 0x40;
inline constexpr uint8_t kHasPcr = 0x10;

// start: a section or a PES packet begins in this packet.
inline uint8_t* put_packet_header(uint8_t* p, uint16_t pid, bool start, bool adaptation, bool payload, uint8_t cc) {
    return base::put_u32(p, uint32_t{kSyncByte} << 24 | uint32_t{start} << 22 | uint32_t{pid} << 8 |
                                uint32_t{adaptation} << 5 | uint32_t{payload} << 4 | (cc & 15u));
}

// Six bytes; the 27 MHz extension is 0.
inline uint8_t* put_pcr(uint8_t* p, uint64_t ticks) {
    ticks &= kTickMask;
    p = base::put_u32(p, static_cast<uint32_t>(ticks >> 1));
    return base::put_u16(p, static_cast<uint32_t>(ticks & 1) << 15 | 0x7e00);
}

// Five bytes of a PES header. prefix: 2 for a PTS alone, 3 for a PTS before a DTS, 1 for a DTS.
inline uint8_t* put_time_stamp(uint8_t* p, uint8_t prefix, uint64_t ticks) {
    ticks &= kTickMask;
    *p++ = static_cast<uint8_t>(prefix << 4 | ticks >> 29 | 1);
    p = base::put_u16(p, static_cast<uint32_t>(ticks >> 14 | 1) & 0xffff);
    return base::put_u16(p, static_cast<uint32_t>(ticks << 1 | 1) & 0xffff);
}

}  // namespace ts

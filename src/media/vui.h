#pragma once
// What the VUI parameters of H.264 (E.1.1) and HEVC (E.2.1) have in common.

#include <chrono>

#include "base/bits.h"
#include "media/time.h"

namespace media {

// Skips the VUI from its beginning past the chroma location.
inline void skip_vui_colours(base::BitReader& b) {
    constexpr uint32_t kExtendedRatio = 255;
    if (b.bit() && b.bits(8) == kExtendedRatio) b.skip(32);
    if (b.bit()) b.bit();  // overscan
    if (b.bit()) {         // video signal
        b.skip(4);
        if (b.bit()) b.skip(24);
    }
    if (b.bit()) {  // chroma location
        b.ue();
        b.ue();
    }
}

// num_units_in_tick and time_scale as a duration of that many ticks; 0: not stated, or no frame's.
inline Time read_vui_duration(base::BitReader& b, int64_t ticks) {
    const int64_t units = b.bits(32), scale = b.bits(32);
    if (!b.ok() || units == 0 || scale == 0) return Time(0);
    const Time duration = from_ticks(ticks * units, scale);
    const bool plausible = duration >= std::chrono::milliseconds(1) && duration <= std::chrono::seconds(10);
    return plausible ? duration : Time(0);
}

}  // namespace media

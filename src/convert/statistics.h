#pragma once
// Current conversions in this process, and their losses: for metrics.

#include <cstdint>

namespace convert {

struct Statistics {
    uint64_t audio_converters = 0;  // at present
    uint64_t to_rtp = 0;            // streams whose frames are converted to RTP, at present
    uint64_t from_rtp = 0;          // the same for RTP to frames
    uint64_t audio_dropped = 0;     // packets that the converters dropped, because they fell behind
};

// The one instance.
inline Statistics& statistics() {
    static Statistics all;
    return all;
}

}  // namespace convert

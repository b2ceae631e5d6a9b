#pragma once
// What is being converted in this process, and what was lost by it: for metrics.

#include <cstdint>

namespace convert {

struct Statistics {
    uint64_t audio_converters = 0;  // now
    uint64_t to_rtp = 0;            // streams of which frames are made RTP, now
    uint64_t from_rtp = 0;          // and RTP frames
    uint64_t audio_dropped = 0;     // packets that converters did not get to in time
};

// There is one.
inline Statistics& statistics() {
    static Statistics all;
    return all;
}

}  // namespace convert

#pragma once
// For tests: the payloads of a frame, each with its own bytes.

#include <utility>
#include <vector>

#include "protocol/rtp/payload/packetizer.h"

namespace rtp::testing {

struct Payload {
    base::Slice bytes;
    uint32_t timestamp_offset = 0;
    bool marker = false;
    bool keyframe = false;  // the first payload of a frame where decoding can start
};

// Appends them; after an error `out` is unchanged.
inline base::Result<void> packetize(Packetizer& packetizer, const media::Frame& frame, std::vector<Payload>& out) {
    base::SliceBuilder buffer;
    std::vector<PayloadSpan> spans;
    TRY(packetizer.write(frame, buffer, spans));
    bool keyframe = frame.keyframe;
    for (const PayloadSpan& span : spans)
        out.push_back({base::Slice::copy(buffer.bytes().subspan(span.begin, span.end - span.begin)),
                       span.timestamp_offset, span.marker, std::exchange(keyframe, false)});
    return {};
}

}  // namespace rtp::testing

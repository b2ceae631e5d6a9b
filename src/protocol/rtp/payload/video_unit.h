#pragma once
// What the video formats share: units, in-band configurations, and payloads cut from a slab.

#include <span>
#include <utility>
#include <vector>

#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/packetizer.h"

namespace rtp {

inline Unit video_unit(media::Codec codec, base::Slice payload, bool keyframe, uint32_t timestamp) {
    media::Frame frame;
    frame.kind = media::Kind::kVideo;
    frame.codec = codec;
    frame.keyframe = keyframe;
    frame.payload = std::move(payload);
    return {std::move(frame), timestamp};
}

// A sequence header.
inline Unit config_unit(media::Codec codec, base::Slice config, uint32_t timestamp) {
    Unit unit = video_unit(codec, std::move(config), false, timestamp);
    unit.frame.sequence_header = true;
    return unit;
}

// Stores the new configuration in in_force, and appends a sequence header when it differs. False when `made` is an
// error, which counts as malformed.
inline bool use_config(base::Result<base::Slice> made, base::Slice& in_force, media::Codec codec, uint32_t timestamp,
                       DepacketizerCounters& counters, std::vector<Unit>& out) {
    if (!made) {
        ++counters.malformed;
        return false;
    }
    if (*made == in_force) return true;
    in_force = *std::move(made);
    out.push_back(config_unit(codec, in_force, timestamp));
    return true;
}

// The payloads of a frame. Each ends at an offset in `ends`, the last at the slab's end.
inline void cut_slab(const base::Slice& slab, std::span<const size_t> ends, bool keyframe, std::vector<Payload>& out) {
    size_t begin = 0;
    for (size_t end : ends) {
        out.push_back({slab.sub(begin, end - begin), 0, end == ends.back(), keyframe && begin == 0});
        begin = end;
    }
}

}  // namespace rtp

#pragma once
// What the video formats share: units and in-band configurations.

#include <utility>
#include <vector>

#include "protocol/rtp/payload/depacketizer.h"

namespace rtp {

inline Unit video_unit(media::Codec codec, base::Slice payload, bool keyframe, uint32_t timestamp) {
    media::Frame frame;
    frame.kind = media::Kind::kVideo;
    frame.codec = codec;
    frame.keyframe = keyframe;
    frame.payload = std::move(payload);
    Unit unit;
    unit.frame = std::move(frame);
    unit.timestamp = timestamp;
    return unit;
}

// A sequence header.
inline Unit config_unit(media::Codec codec, base::Slice config, uint32_t timestamp) {
    Unit unit = video_unit(codec, std::move(config), false, timestamp);
    unit.frame.sequence_header = true;
    return unit;
}

// Stores the new configuration in active, and appends a sequence header when it differs. False when `made` is an
// error, which counts as malformed.
inline bool use_config(base::Result<base::Slice> made, base::Slice& active, media::Codec codec, uint32_t timestamp,
                       DepacketizerCounters& counters, std::vector<Unit>& out) {
    if (!made) {
        ++counters.malformed;
        return false;
    }
    if (*made == active) return true;
    active = *std::move(made);
    out.push_back(config_unit(codec, active, timestamp));
    return true;
}

}  // namespace rtp

#include "protocol/flv/timestamps.h"

namespace flv {

int64_t Timestamps::extend(const Track& from, uint32_t timestamp) {
    return from.started ? from.ms + static_cast<int32_t>(timestamp - from.timestamp) : timestamp;
}

// A track's first timestamp is near the other track's.
media::Time Timestamps::of_frame(media::Kind kind, uint32_t timestamp) {
    Track& track = tracks_[kind == media::Kind::kVideo ? 0 : 1];
    last_ = {true, timestamp, extend(track.started ? track : last_, timestamp)};
    track = last_;
    return media::from_ms(track.ms);
}

media::Time Timestamps::of_companion(uint32_t timestamp) const { return media::from_ms(extend(last_, timestamp)); }

}  // namespace flv

#include "protocol/flv/timestamps.h"

namespace flv {

int64_t Timestamps::extend(const Track& from, uint32_t timestamp) {
    return from.started ? from.ms + static_cast<int32_t>(timestamp - from.timestamp) : timestamp;
}

// A track's first timestamp is near the other track's.
media::Time Timestamps::of_frame(media::Kind kind, uint32_t timestamp) {
    const size_t index = kind == media::Kind::kVideo ? 0 : 1;
    Track& track = tracks_[index];
    track = {true, timestamp, extend(track.started ? track : tracks_[last_], timestamp)};
    last_ = index;
    return media::from_ms(track.ms);
}

media::Time Timestamps::of_companion(uint32_t timestamp) const {
    return media::from_ms(extend(tracks_[last_], timestamp));
}

}  // namespace flv

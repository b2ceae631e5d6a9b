#include "live/hub/timeline.h"

#include <algorithm>

namespace live {

void Timeline::restart() {
    for (Track& track : tracks_) track.started = false;
    any_ = false;
}

// A track's first time is placed beside the other track's, so that both keep the distance they were published with.
void Timeline::unwrap(Track& track, uint32_t published_ms) {
    int64_t base = any_ ? reference_unwrapped_ : published_ms;
    uint32_t base_raw = any_ ? reference_raw_ : published_ms;
    if (track.started) {
        base = track.unwrapped;
        base_raw = track.raw;
    }
    track.unwrapped = base + static_cast<int32_t>(published_ms - base_raw);
    track.raw = published_ms;
}

int64_t Timeline::first_offset(int64_t unwrapped) const {
    if (mode_ == TimeJitter::kOff) return 0;
    if (!first_ever_) return last_ + kNominalStepMs - unwrapped;
    // A publisher that starts near 0 keeps its own start: its other track may begin a little before this one.
    return unwrapped < kForwardJumpMs ? 0 : -unwrapped;
}

bool Timeline::fits(const Track& track, int64_t time) const {
    return time >= track.last && time <= last_ + kForwardJumpMs;
}

// When one track has jumped the other soon follows: it takes the first one's offset, and stays in step with it.
void Timeline::rebase(Track& track) {
    ++jumps_;
    for (const Track& other : tracks_) {
        if (&other == &track || !other.started || !fits(track, track.unwrapped + other.offset)) continue;
        track.offset = other.offset;
        return;
    }
    track.offset = std::max(last_, track.last) + kNominalStepMs - track.unwrapped;
}

int64_t Timeline::correct(media::Kind kind, uint32_t published_ms) {
    Track& track = tracks_[kind == media::Kind::kVideo ? 0 : 1];
    unwrap(track, published_ms);
    if (!track.started) {
        track.offset = any_ ? offset_ : first_offset(track.unwrapped);
        track.started = true;
    }
    int64_t time = track.unwrapped + track.offset;
    if (mode_ == TimeJitter::kFull) {
        if (time > last_ + kForwardJumpMs || time < track.last - kBackwardJumpMs) {
            rebase(track);
            time = track.unwrapped + track.offset;
        }
        time = std::max(time, track.last);
    }
    time = std::max<int64_t>(time, 0);
    track.last = time;
    last_ = mode_ == TimeJitter::kFull ? std::max(last_, time) : time;
    any_ = true;
    first_ever_ = false;
    offset_ = track.offset;
    reference_raw_ = track.raw;
    reference_unwrapped_ = track.unwrapped;
    return time;
}

int64_t Timeline::place(uint32_t published_ms) const {
    if (!any_) return mode_ == TimeJitter::kOff ? published_ms : last_;
    int64_t time = reference_unwrapped_ + static_cast<int32_t>(published_ms - reference_raw_) + offset_;
    bool near = time >= last_ - kBackwardJumpMs && time <= last_ + kForwardJumpMs;
    return near && time >= 0 ? time : last_;
}

}  // namespace live

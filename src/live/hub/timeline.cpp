#include "live/hub/timeline.h"

#include <algorithm>

namespace live {

using media::Time;

namespace {

// The whole ms at or after a time.
Time whole_ms(Time time) { return std::chrono::ceil<std::chrono::milliseconds>(time); }

}  // namespace

void Timeline::restart() {
    for (Track& track : tracks_) track.started = false;
    any_ = false;
}

Time Timeline::first_offset(Time published) const {
    if (mode_ == TimeJitter::kOff) return Time(0);
    if (!first_ever_) return whole_ms(last_ + kNominalStep - published);
    // A publisher that starts near 0 keeps its own start: its other track may begin a little before this one.
    return published < kForwardJump ? Time(0) : whole_ms(-published);
}

bool Timeline::fits(const Track& track, Time time) const { return time >= track.last && time <= last_ + kForwardJump; }

// When one track has jumped the other soon follows: it takes the first one's offset, and stays in step with it.
void Timeline::rebase(Track& track, Time published) {
    ++jumps_;
    for (const Track& other : tracks_) {
        if (&other == &track || !other.started || !fits(track, published + other.offset)) continue;
        track.offset = other.offset;
        return;
    }
    track.offset = whole_ms(std::max(last_, track.last) + kNominalStep - published);
}

Time Timeline::correct(media::Kind kind, Time published) {
    Track& track = tracks_[kind == media::Kind::kVideo ? 0 : 1];
    if (!track.started) {
        // Beside the other track, so that both keep the distance they were published with.
        track.offset = any_ ? offset_ : first_offset(published);
        track.started = true;
    }
    Time time = published + track.offset;
    if (mode_ == TimeJitter::kFull) {
        if (time > last_ + kForwardJump || time < track.last - kBackwardJump) {
            rebase(track, published);
            time = published + track.offset;
        }
        time = std::max(time, track.last);
    }
    time = std::max(time, Time(0));
    track.last = time;
    last_ = mode_ == TimeJitter::kFull ? std::max(last_, time) : time;
    any_ = true;
    first_ever_ = false;
    offset_ = track.offset;
    return time;
}

Time Timeline::place(Time published) const {
    if (!any_) return mode_ == TimeJitter::kOff ? published : last_;
    const Time time = published + offset_;
    bool near = time >= last_ - kBackwardJump && time <= last_ + kForwardJump;
    return near && time >= Time(0) ? time : last_;
}

}  // namespace live

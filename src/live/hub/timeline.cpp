#include "live/hub/timeline.h"

#include <algorithm>

namespace live {

using media::Time;

namespace {

// The whole ms at or after a time.
Time whole_ms(Time time) { return std::chrono::ceil<std::chrono::milliseconds>(time); }

}  // namespace

void Timeline::restart() {
    tracks_.for_each([](Track& track) { track.started = false; });
    has_frames_ = false;
    before_jump_.reset();
    discontinuity_.reset();
}

Time Timeline::first_offset(Time published) const {
    if (mode_ == TimeJitter::kOff) return Time(0);
    if (!first_ever_) return whole_ms(last_ + kNominalStep - published);
    // A publisher that starts near 0 keeps its own start: its other track may begin a little before this one.
    return published < kForwardJump ? Time(0) : whole_ms(-published);
}

bool Timeline::fits(const Track& track, Time time) const { return time >= track.last && time <= last_ + kForwardJump; }

// When one track has jumped the other soon follows: it takes the first one's offset, so that both stay in step.
void Timeline::rebase(Track& track, Time published) {
    ++jumps_;
    bool follows = false;
    tracks_.for_each([&](const Track& other) {
        if (follows || &other == &track || !other.started || !fits(track, published + other.offset)) return;
        track.offset = other.offset;
        follows = true;
    });
    if (!follows) track.offset = whole_ms(std::max(last_, track.last) + kNominalStep - published);
}

// Whether a jump at last_ is a new one, and not the previous one in another track.
bool Timeline::is_new_discontinuity() {
    const bool other = !discontinuity_ || last_ - *discontinuity_ > kSameJump || last_ < *discontinuity_;
    discontinuity_ = last_;
    return other;
}

// For times that are left as published. After the first track's jump the others continue for a while at the old times.
bool Timeline::jumps_uncorrected(Track& track, Time time, bool first) {
    if (!has_frames_) newest_ = time;
    const Time last = first ? newest_ - kForwardJump : track.last;
    if (time >= last - kBackwardJump && time <= newest_ + kForwardJump) {
        newest_ = std::max(newest_, time);
        track.last = time;
        return false;
    }
    if (before_jump_ && media::distance(time, *before_jump_) <= kForwardJump) return false;
    before_jump_ = newest_;
    newest_ = time;
    tracks_.for_each([&](Track& other) { other.last = time - kForwardJump; });
    track.last = time;
    return true;
}

Timeline::Corrected Timeline::correct(media::Kind kind, uint8_t index, Time published) {
    Track& track = tracks_.at(kind, index);
    bool discontinuity = false;
    const bool first = !track.started;
    if (first) [[unlikely]] {
        // The offset of the other track, so that both keep the distance they were published with.
        track.offset = has_frames_ ? offset_ : first_offset(published);
        track.started = true;
    }
    Time time = published + track.offset;
    if (mode_ == TimeJitter::kFull) {
        if (time > last_ + kForwardJump || time < track.last - kBackwardJump) [[unlikely]] {
            discontinuity = is_new_discontinuity();
            rebase(track, published);
            time = published + track.offset;
        }
        time = std::max({time, track.last, Time(0)});
        track.last = time;
        last_ = std::max(last_, time);
    } else {
        time = std::max(time, Time(0));
        discontinuity = jumps_uncorrected(track, time, first);
        last_ = time;
    }
    has_frames_ = true;
    first_ever_ = false;
    offset_ = track.offset;
    return {time, discontinuity};
}

Time Timeline::companion_time(Time published) const {
    if (!has_frames_) return mode_ == TimeJitter::kOff ? published : last_;
    const Time time = published + offset_;
    bool near = time >= last_ - kBackwardJump && time <= last_ + kForwardJump;
    return near && time >= Time(0) ? time : last_;
}

}  // namespace live

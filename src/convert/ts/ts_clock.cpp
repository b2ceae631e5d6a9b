#include "convert/ts/ts_clock.h"

#include <algorithm>

namespace convert {

using media::Time;

// A track that begins may do so a little before or after the others.
bool TsClock::fits(const Track& track, Time time, int64_t now_us) const {
    if (!track.begun) return media::distance(time, expected(now_us)) <= kForward;
    const Time passed = media::from_us(std::max<int64_t>(now_us - track.arrival_us, 0));
    return time >= track.last - kBackward && time <= track.last + passed + kForward;
}

Time TsClock::expected(int64_t now_us) const {
    return newest_ + media::from_us(std::max<int64_t>(now_us - newest_arrival_us_, 0));
}

TsClock::Moment TsClock::at(media::Kind kind, uint8_t index, Time sent, int64_t now_us) {
    Track& track = tracks_.at(kind, index);
    Moment moment;
    if (!begun_) {
        offset_ = sent >= Time(0) && sent < kOwnStart ? Time(0) : kFirst - sent;
    } else {
        if (!track.begun) track.offset = offset_;
        if (!fits(track, sent + track.offset, now_us)) {
            moment.jumped = true;
            ++jumps_;
            if (!fits(track, sent + offset_, now_us))
                offset_ = std::max(expected(now_us), std::max(newest_, track.last) + kLeastStep) - sent;
            track.offset = offset_;
        }
    }
    if (!begun_) track.offset = offset_;
    moment.time = sent + track.offset;
    track.begun = begun_ = true;
    track.last = moment.time;
    track.arrival_us = now_us;
    if (moment.time >= newest_ || moment.jumped) {
        newest_ = moment.time;
        newest_arrival_us_ = now_us;
    }
    return moment;
}

}  // namespace convert

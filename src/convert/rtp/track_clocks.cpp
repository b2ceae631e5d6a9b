#include "convert/rtp/track_clocks.h"

#include <algorithm>
#include <utility>

namespace convert {

using media::Time;

TrackClocks::TrackClocks(const std::vector<uint32_t>& clock_rates) : clocks_(clock_rates.size()) {
    for (size_t i = 0; i < clocks_.size(); ++i) clocks_[i].rate = std::max<int64_t>(clock_rates[i], 1);
}

TrackClocks::Moment TrackClocks::at(size_t track, uint32_t timestamp, int64_t now_us) {
    Clock& clock = clocks_[track];
    const int64_t ticks = clock.unwrap.unwrap(timestamp);
    const Time waited = media::from_us(now_us - clock.last_us);
    if (!clock.known) {
        begin(clock, ticks, now_us);
        align();
    } else if (media::distance(clock.time(ticks) - clock.last, waited) > kContradiction) {
        clock.unwrap.reset();
        clock.report.reset();
        clock.info.reset();
        begin(clock, clock.unwrap.unwrap(timestamp), now_us);
        clock.fresh = false;
        return {clock.last, true};
    }
    if (ticks != std::exchange(clock.newest, ticks)) {
        clock.moved_us = now_us;
    } else if (now_us - clock.moved_us > kStandsStillUs) {
        clock.anchor += std::max(waited, Time(0));
    }
    clock.last = clock.time(ticks);
    clock.last_us = now_us;
    clock.fresh = false;
    return {clock.last, std::exchange(clock.jumps, false)};
}

// The moment of arrival on the timeline of the track that was heard last.
Time TrackClocks::by_arrival(const Clock& clock, int64_t now_us) const {
    const Clock* heard = clock.known || clock.jumps ? &clock : nullptr;
    for (const Clock& other : clocks_)
        if (&other != &clock && other.known && (!heard || other.last_us > heard->last_us)) heard = &other;
    return heard ? heard->last + media::from_us(std::max<int64_t>(now_us - heard->last_us, 0)) : kFirst;
}

void TrackClocks::begin(Clock& clock, int64_t ticks, int64_t now_us) {
    Time time = by_arrival(clock, now_us);
    if (clock.known || clock.jumps) time = std::max(time, clock.last);
    clock.ticks = ticks;
    clock.anchor = clock.last = time;
    clock.last_us = clock.moved_us = now_us;
    clock.newest = ticks;
    clock.known = clock.fresh = true;
}

void TrackClocks::restart(size_t track) {
    Clock& clock = clocks_[track];
    if (!clock.known) return;
    clock.known = false;
    clock.jumps = true;
    clock.aligned = false;
    clock.unwrap.reset();
    clock.report.reset();
    clock.info.reset();
}

void TrackClocks::set_rate(size_t track, uint32_t clock_rate) {
    Clock& clock = clocks_[track];
    clock.anchor = clock.time(clock.newest);
    clock.ticks = clock.newest;
    clock.rate = std::max<int64_t>(clock_rate, 1);
}

void TrackClocks::on_sender_report(size_t track, uint64_t ntp, uint32_t timestamp) {
    if (ntp == 0) return;  // the sender has no wall clock
    Clock& clock = clocks_[track];
    const Mark mark{media::from_us(ntp_.us(ntp)), timestamp};
    if (clock.report && clock.known) {
        const int64_t ticks = clock.unwrap.peek(timestamp) - clock.unwrap.peek(clock.report->timestamp);
        const Time passed = mark.moment - clock.report->moment;
        // Reports of the other tracks are of the clock before it was set.
        if (media::distance(passed, media::from_ticks(ticks, clock.rate)) > kClockSet)
            for (Clock& other : clocks_)
                if (&other != &clock) other.report.reset();
    }
    clock.report = mark;
    align();
}

void TrackClocks::set_rtp_info(size_t track, uint32_t timestamp) {
    clocks_[track].info = Mark{Time(0), timestamp};
    align();
}

void TrackClocks::align() {
    if (!align_by(&Clock::report)) align_by(&Clock::info);
}

// False when less than two tracks have such a mark.
bool TrackClocks::align_by(std::optional<Mark> Clock::*mark) {
    Clock* reference = nullptr;
    bool has_pair = false;
    // The shared clock's moment at time 0 of the timeline, by this track's mark.
    auto origin = [&](const Clock& clock) {
        const Mark& at = *(clock.*mark);
        return at.moment - clock.time(clock.unwrap.peek(at.timestamp));
    };
    for (Clock& clock : clocks_)
        if (clock.known && clock.*mark && (!reference || clock.rank() < reference->rank())) reference = &clock;
    for (Clock& clock : clocks_) {
        if (!clock.known || !(clock.*mark) || &clock == reference) continue;
        has_pair = true;
        const Time by = origin(clock) - origin(*reference);
        if (media::distance(by, Time(0)) > kContradiction) continue;
        if (media::distance(by, Time(0)) > kSlack) correct(clock, by);
        clock.aligned = true;
    }
    return has_pair;
}

// Reports without end must not move times without end.
void TrackClocks::correct(Clock& clock, Time by) {
    constexpr Time kMost = std::chrono::hours(24 * 366 * 50);
    if (clock.anchor > kMost || clock.anchor < -kMost) return;
    if (clock.fresh && !clock.jumps && by < Time(0) && by >= -kEarlyBegin) {
        clock.anchor += by;
    } else if (clock.aligned && media::distance(by, Time(0)) < kSmall) {
        clock.anchor += by / 4;
    } else if (clock.movable || by > Time(0)) {
        clock.anchor += by;
    } else {
        for (Clock& other : clocks_)
            if (&other != &clock) other.anchor -= by;
    }
}

}  // namespace convert

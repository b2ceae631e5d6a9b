#pragma once
// RtpClock: the moment that a track's RTP timestamps stand for (RFC 3550, 6.4.1). Both tracks of a stream share one
// clock, so a player that gets a sender report of each can play them in step. Timestamps are 64 bits wide: those on the
// wire wrap after 13 hours of video (RtpLane::ticks() unwraps them). Pure.

#include <cstdint>

namespace live {

struct RtpClock {
    bool known = false;
    bool exact = false;       // stated by the publisher, not estimated from arrival
    int64_t timestamp = 0;    // unwrapped; corresponds to
    int64_t wall_us = 0;      // microseconds since 1970
    uint32_t clock_rate = 0;  // Hz
    uint32_t version = 0;     // counts changes of this clock

    // The timestamp of another moment.
    int64_t at(int64_t us) const {
        const int64_t apart_us = us - wall_us;
        // Seconds and the rest separately, so that nothing overflows.
        return timestamp + apart_us / 1'000'000 * clock_rate + apart_us % 1'000'000 * clock_rate / 1'000'000;
    }
    // The moment of another timestamp.
    int64_t moment(int64_t other) const {
        const int64_t ticks = other - timestamp;
        return wall_us + ticks / clock_rate * 1'000'000 + ticks % clock_rate * 1'000'000 / clock_rate;
    }
};

}  // namespace live

#pragma once
// RtpClock: which moment a track's RTP timestamps stand for (RFC 3550, 6.4.1). Both tracks of a stream have the same
// clock behind them, so a player that gets a sender report of each can play them in step. Pure.

#include <cstdint>

namespace live {

struct RtpClock {
    bool known = false;
    bool exact = false;       // said by the publisher, not guessed from arrival
    uint32_t timestamp = 0;   // belongs to
    int64_t wall_us = 0;      // microseconds since 1970
    uint32_t clock_rate = 0;  // Hz
    uint32_t version = 0;     // counts its changes

    // The timestamp of another moment.
    uint32_t at(int64_t us) const {
        const int64_t apart_us = us - wall_us;
        // Apart: seconds and rest, so that nothing overflows.
        const int64_t ticks = apart_us / 1'000'000 * clock_rate + apart_us % 1'000'000 * clock_rate / 1'000'000;
        return timestamp + static_cast<uint32_t>(ticks);
    }
    // The moment of another timestamp that is less than half its range away.
    int64_t moment(uint32_t other) const {
        return wall_us + static_cast<int64_t>(static_cast<int32_t>(other - timestamp)) * 1'000'000 / clock_rate;
    }
};

}  // namespace live

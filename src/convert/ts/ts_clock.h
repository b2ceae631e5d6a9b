#pragma once
// TsClock: the times of an encoder's transport stream as times that go on. While its clock runs every distance stays as
// it was sent. Where it jumps, as at a restart of the encoder, the stream continues as much later as has passed on the
// local clock. Tracks jump one after the other: a track takes the newest track's offset where that fits. Pure: times
// are passed in.

#include <cstdint>

#include "media/per_track.h"
#include "media/time.h"

namespace convert {

class TsClock {
  public:
    // A sender whose first time is before this keeps its own times; that of others becomes kFirst, so that another
    // track may begin a little before.
    static constexpr media::Time kOwnStart = std::chrono::seconds(10);
    static constexpr media::Time kFirst = std::chrono::seconds(1);
    // Times are a jump when they go back by more than this within a track, or forward by more than this beside the time
    // that has passed.
    static constexpr media::Time kBackward = std::chrono::milliseconds(200);
    static constexpr media::Time kForward = std::chrono::seconds(5);
    // The step at a jump, if less time has passed.
    static constexpr media::Time kLeastStep = std::chrono::milliseconds(20);

    struct Moment {
        media::Time time{};
        bool jumped = false;
    };
    // The decoding time of a track's frame. sent: on the sender's clock; now_us: its arrival, microseconds of any
    // monotonic clock.
    Moment at(media::Kind kind, uint8_t track, media::Time sent, int64_t now_us);
    // The latest time returned.
    media::Time last() const { return newest_; }
    uint64_t jumps() const { return jumps_; }

  private:
    struct Track {
        bool begun = false;
        media::Time offset{};  // our time minus the sender's
        media::Time last{};
        int64_t arrival_us = 0;
    };
    bool fits(const Track& track, media::Time time, int64_t now_us) const;
    media::Time expected(int64_t now_us) const;

    media::PerTrack<Track> tracks_;
    bool begun_ = false;
    media::Time offset_{};  // the newest one
    media::Time newest_{};  // the latest time returned
    int64_t newest_arrival_us_ = 0;
    uint64_t jumps_ = 0;
};

}  // namespace convert

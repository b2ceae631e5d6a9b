#pragma once
// Timeline: turns a publisher's times into the stream's. Pure: no clock.
//  - kFull: starts at 0 (or at the publisher's own start when that is under 10 s), never goes back within a track,
//  passes over jumps and over a publisher's restart; otherwise every distance
//    between frames is left as it was published.
//  - kZero: starts at 0, else as published. kOff: as published.
// What it adds to a publisher's times is whole milliseconds: times that were published in ms stay so.

#include <cstdint>

#include "live/hub/options.h"
#include "media/codec.h"
#include "media/time.h"

namespace live {

class Timeline {
  public:
    // A jump is more than this away from the track's last frame.
    static constexpr media::Time kForwardJump = std::chrono::seconds(10);
    static constexpr media::Time kBackwardJump = std::chrono::seconds(1);
    // What a jump is replaced by.
    static constexpr media::Time kNominalStep = std::chrono::milliseconds(40);

    void set_mode(TimeJitter mode) { mode_ = mode; }
    // The next frame comes from another publisher, whose times have nothing to do with the last one's.
    void restart();
    // The time of an audio or video frame.
    media::Time correct(media::Kind kind, media::Time published);
    // The time of what only rides along (sequence headers, metadata): often stamped 0 by publishers, so it moves
    // nothing.
    media::Time place(media::Time published) const;
    // The latest time handed out; 0 before the first.
    media::Time last() const { return last_; }
    uint64_t jumps() const { return jumps_; }

  private:
    struct Track {
        bool started = false;
        media::Time offset{};  // stream time minus published time
        media::Time last{};    // stream time
    };
    media::Time first_offset(media::Time published) const;
    bool fits(const Track& track, media::Time time) const;
    void rebase(Track& track, media::Time published);

    TimeJitter mode_ = TimeJitter::kFull;
    Track tracks_[2];   // video, audio
    bool any_ = false;  // a frame has come since the (re)start
    bool first_ever_ = true;
    media::Time offset_{};  // the last used one
    media::Time last_{};
    uint64_t jumps_ = 0;
};

}  // namespace live

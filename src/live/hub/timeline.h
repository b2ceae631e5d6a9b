#pragma once
// Timeline: turns a publisher's 32-bit RTMP times into the stream's 64-bit ones. Pure: no clock.
//  - kFull: starts at 0 (or at the publisher's own start when that is under 10 s), never goes back within a track,
//  passes over jumps and over a publisher's restart; otherwise every distance
//    between frames is left as it was published.
//  - kZero: starts at 0, else as published. kOff: as published.
// All modes carry on over the wrap at 2^32 ms.

#include <cstdint>

#include "live/hub/options.h"
#include "media/codec.h"

namespace live {

class Timeline {
  public:
    // A jump is more than this away from the track's last frame.
    static constexpr int64_t kForwardJumpMs = 10'000;
    static constexpr int64_t kBackwardJumpMs = 1'000;
    // What a jump is replaced by.
    static constexpr int64_t kNominalStepMs = 40;

    void set_mode(TimeJitter mode) { mode_ = mode; }
    // The next frame comes from another publisher, whose times have nothing to do with the last one's.
    void restart();
    // The time of an audio or video frame.
    int64_t correct(media::Kind kind, uint32_t published_ms);
    // The time of what only rides along (sequence headers, metadata): often stamped 0 by publishers, so it moves
    // nothing.
    int64_t place(uint32_t published_ms) const;
    // The latest time handed out; 0 before the first.
    int64_t last() const { return last_; }
    uint64_t jumps() const { return jumps_; }

  private:
    struct Track {
        bool started = false;
        uint32_t raw = 0;  // the last published time
        int64_t unwrapped = 0;
        int64_t offset = 0;  // stream time minus unwrapped time
        int64_t last = 0;    // stream time
    };
    void unwrap(Track& track, uint32_t published_ms);
    int64_t first_offset(int64_t unwrapped) const;
    bool fits(const Track& track, int64_t time) const;
    void rebase(Track& track);

    TimeJitter mode_ = TimeJitter::kFull;
    Track tracks_[2];   // video, audio
    bool any_ = false;  // a frame has come since the (re)start
    bool first_ever_ = true;
    uint32_t reference_raw_ = 0;  // the last published time of any track, to unwrap a track's first
    int64_t reference_unwrapped_ = 0;
    int64_t offset_ = 0;  // the last used one
    int64_t last_ = 0;
    uint64_t jumps_ = 0;
};

}  // namespace live

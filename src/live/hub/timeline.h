#pragma once
// Timeline: turns a publisher's times into the stream's. Pure: no clock.
//  - kFull: starts at 0 (or at the publisher's own start when that is under 10 s), never goes back within a track,
//    removes jumps and a publisher's restart; otherwise every distance between frames is left as it was published.
//  - kZero: starts at 0, else as published. kOff: as published.
// What it adds to a publisher's times is whole milliseconds: times that were published in ms stay so. It says where
// times jumped, in each mode: once for all tracks, which jump one after the other.

#include <array>
#include <cstdint>
#include <optional>

#include "live/hub/options.h"
#include "media/frame.h"

namespace live {

class Timeline {
  public:
    // A jump is more than this away from the track's last frame.
    static constexpr media::Time kForwardJump = std::chrono::seconds(10);
    static constexpr media::Time kBackwardJump = std::chrono::seconds(1);
    // What a jump is replaced by.
    static constexpr media::Time kNominalStep = std::chrono::milliseconds(40);
    // Jumps of several tracks within this are one.
    static constexpr media::Time kSameJump = std::chrono::seconds(2);

    void set_mode(TimeJitter mode) { mode_ = mode; }
    // The next frame comes from another publisher, whose times have nothing to do with the last one's.
    void restart();
    struct Corrected {
        media::Time time;
        bool discontinuity = false;  // the first frame of all tracks behind a jump
    };
    // The time of an audio or video frame. track: Frame::track.
    Corrected correct(media::Kind kind, uint8_t track, media::Time published);
    // The time of what only rides along (sequence headers, metadata): often stamped 0 by publishers, so it moves
    // nothing.
    media::Time place(media::Time published) const;
    // The latest time handed out; 0 before the first.
    media::Time last() const { return last_; }
    // Of all tracks, each counted; those that were corrected.
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
    bool begins_anew();
    bool jumps_uncorrected(Track& track, media::Time time, bool first);

    TimeJitter mode_ = TimeJitter::kFull;
    std::array<std::array<Track, media::kMaxTracks>, 2> tracks_;  // video, audio
    bool any_ = false;                                            // a frame has come since the (re)start
    bool first_ever_ = true;
    media::Time offset_{};  // the last used one
    media::Time last_{};
    uint64_t jumps_ = 0;
    std::optional<media::Time> discontinuity_;  // the time of the last one
    std::optional<media::Time> before_jump_;    // kOff, kZero: times that other tracks may still have
    media::Time newest_{};                      // kOff, kZero: since the last jump
};

}  // namespace live

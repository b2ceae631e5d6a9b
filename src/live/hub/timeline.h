#pragma once
// Timeline: converts a publisher's times to the stream's. Pure: no clock.
//  - kFull: starts at 0 (or at the publisher's own start when that is under 10 s), never goes back within a track,
//    removes jumps and a publisher's restart; otherwise every distance between frames stays as published.
//  - kZero: starts at 0, else as published. kOff: as published.
// Offsets are whole milliseconds: times that were published in ms stay so. In each mode it reports where times jumped:
// once for all tracks, which jump one after the other.

#include <cstdint>
#include <optional>

#include "live/hub/options.h"
#include "media/frame.h"
#include "media/per_track.h"

namespace live {

class Timeline {
  public:
    // A jump is more than this away from the track's last frame.
    static constexpr media::Time kForwardJump = std::chrono::seconds(10);
    static constexpr media::Time kBackwardJump = std::chrono::seconds(1);
    // The step that replaces a jump.
    static constexpr media::Time kNominalStep = std::chrono::milliseconds(40);
    // Jumps of several tracks within this time count as one.
    static constexpr media::Time kSameJump = std::chrono::seconds(2);

    void set_mode(TimeJitter mode) { mode_ = mode; }
    TimeJitter mode() const { return mode_; }
    // The next frame comes from another publisher, whose times are unrelated to the last one's.
    void restart();
    struct Corrected {
        media::Time time;
        bool discontinuity = false;  // the first frame of all tracks after a jump
    };
    // The time of an audio or video frame. track: Frame::track.
    Corrected correct(media::Kind kind, uint8_t track, media::Time published);
    // The time of a companion of audio and video (sequence headers, metadata). Publishers often stamp it 0, so it does
    // not move the timeline.
    media::Time companion_time(media::Time published) const;
    // The latest time returned; 0 before the first.
    media::Time last() const { return last_; }
    // The same of one track.
    media::Time last(media::Kind kind, uint8_t track) const { return tracks_.at(kind, track).last; }
    // Corrected jumps, each track's counted.
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
    bool is_new_discontinuity();
    bool jumps_uncorrected(Track& track, media::Time time, bool first);

    TimeJitter mode_ = TimeJitter::kFull;
    media::PerTrack<Track> tracks_;
    bool has_frames_ = false;  // a frame arrived since the (re)start
    bool first_ever_ = true;
    media::Time offset_{};  // the last one used
    media::Time last_{};
    uint64_t jumps_ = 0;
    std::optional<media::Time> discontinuity_;  // the time of the last one
    std::optional<media::Time> before_jump_;    // kOff, kZero: other tracks may still be near this time
    media::Time newest_{};                      // kOff, kZero: since the last jump
};

}  // namespace live

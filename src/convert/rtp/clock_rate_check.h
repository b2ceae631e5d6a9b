#pragma once
// ClockRateCheck: whether the RTP timestamps of audio count at the described clock rate. A frame's duration is known
// from its samples, so the timestamps of consecutive frames show the rate: some devices describe 90,000 Hz and count
// samples, or the other way. Small differences are not judged: they may be an error of the audio's own configuration.
// Pure.

#include <cstdint>
#include <optional>

#include "media/frame.h"

namespace convert {

class ClockRateCheck {
  public:
    // clock_rate: as described, Hz.
    explicit ClockRateCheck(uint32_t clock_rate) : rate_(clock_rate) {}
    // A sequence header of the audio.
    void set_header(const media::Frame& header);
    // A frame, in order. A rate: the timestamps count at it, told once.
    std::optional<uint32_t> check(const media::Frame& frame, uint32_t timestamp);
    // Frames are missing before the next one.
    void restart() { duration_ = media::Time(0); }

  private:
    static constexpr int kEnough = 8;  // frames in a row

    media::Time duration_of(const media::Frame& frame) const;

    uint32_t rate_;
    media::Time aac_duration_{};
    media::Time duration_{};  // of the last frame; 0: not known
    uint32_t timestamp_ = 0;
    uint32_t candidate_ = 0;
    int count_ = 0;
};

}  // namespace convert

#pragma once
// AacClock: hls_dts_directly off. Computes the times of AAC frames from their sample counts, for publishers whose audio
// timestamps jitter. A published timestamp that differs by more than kMax is used unchanged. Pure.

#include <cstdint>

#include "media/time.h"

namespace service::hls {

class AacClock {
  public:
    static constexpr media::Time kMax = std::chrono::milliseconds(100);

    // Returns the corrected dts of a frame. samples: in the frame; rate: Hz.
    media::Time correct(media::Time dts, int samples, int rate) {
        if (rate <= 0 || samples <= 0) return dts;
        media::Time counted = base_ + media::from_ticks(samples_, rate);
        bool fits = started_ && rate == rate_ && media::distance(dts, counted) <= kMax;
        if (!fits) {
            started_ = true;
            rate_ = rate;
            base_ = counted = dts;
            samples_ = 0;
        }
        samples_ += samples;
        return counted;
    }

  private:
    bool started_ = false;
    int rate_ = 0;
    media::Time base_{};
    int64_t samples_ = 0;  // since base_
};

}  // namespace service::hls

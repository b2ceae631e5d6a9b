#pragma once
// AacClock: hls_dts_directly off. Computes the times of AAC frames from their sample counts, for publishers whose audio
// timestamps jitter. A published timestamp that differs by more than kMaxMs is used unchanged. Pure.

#include <cstdint>

namespace service::hls {

class AacClock {
  public:
    static constexpr int64_t kMaxMs = 100;

    // Returns the corrected dts of a frame. dts: ms; samples: in the frame; rate: Hz.
    int64_t correct(int64_t dts, int samples, int rate) {
        if (rate <= 0 || samples <= 0) return dts;
        int64_t counted = base_ + (samples_ * 1000 + rate / 2) / rate;
        bool fits = started_ && rate == rate_ && dts - counted <= kMaxMs && counted - dts <= kMaxMs;
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
    int64_t base_ = 0;
    int64_t samples_ = 0;  // since base_
};

}  // namespace service::hls

#pragma once
// AacClock: the times of AAC frames by their counts of samples, for publishers whose audio timestamps jitter. A
// published timestamp that differs by more than kMax is used unchanged. Pure.

#include <array>
#include <cstdint>

#include "media/track_set.h"

namespace media {

class AacClock {
  public:
    static constexpr Time kMax = std::chrono::milliseconds(100);

    // Returns the corrected dts of a frame. samples: in the frame; rate: Hz.
    Time correct(Time dts, int samples, int rate);

  private:
    bool started_ = false;
    int rate_ = 0;
    Time base_{};
    int64_t samples_ = 0;  // since base_
};

// Those of a stream's audio tracks.
class AacClocks {
  public:
    void set_tracks(const TrackSet& tracks);
    // The dts of a frame in AAC, corrected.
    Time correct(const Frame& frame);

  private:
    struct Entry {
        AacClock clock;
        int rate = 0;     // Hz; 0: it is not known
        int samples = 0;  // in a frame
    };
    std::array<Entry, kMaxTracks> entries_;
};

}  // namespace media

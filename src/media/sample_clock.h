#pragma once
// SampleClock: the exact times of audio frames whose published times are rounded to milliseconds (RTMP, FLV): a frame
// begins where the one before it ended, as far as its published time allows it. The result always rounds to the
// published time, so formats in milliseconds are unaffected. Pure: it counts samples.

#include <algorithm>

#include "media/time.h"

namespace media {

class SampleClock {
  public:
    // published: whole milliseconds. duration: of the frame's samples; 0 when it is not known.
    Time next(Time published, Time duration) {
        constexpr Time kHalf = from_ms(1) / 2;
        constexpr Time kGap = from_ms(2);
        Time exact = published;
        if (counts_ && distance(end_, published) <= kGap)
            exact = std::clamp(end_, published - kHalf, published + kHalf - Time(1));
        counts_ = duration > Time(0);
        end_ = exact + duration;
        return exact;
    }

  private:
    bool counts_ = false;
    Time end_{};  // of the last frame
};

}  // namespace media

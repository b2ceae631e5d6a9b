#pragma once
// PosterBudget: how many posters are made for strangers, in all. A picture is kept for its stream, but somebody who
// asks for those of many streams would have the decoder work all the time, which converts audio, too. Times are handed
// in, us of the loop's clock.

#include <cstdint>

#include "protocol/srt/pacing.h"

namespace service::api {

class PosterBudget {
  public:
    static constexpr int64_t kPerSecond = 4, kBurst = 16;
    // Requests that wait for one, at once.
    static constexpr size_t kMaxWaiting = 8;

    struct Counters {
        uint64_t made = 0;
        uint64_t refused_rate = 0, refused_waiting = 0;
    };

    // Whether another one may be made now; it is counted.
    bool take(int64_t now_us) {
        const bool is_free = bucket_.ready_us(kLimit) <= now_us;
        if (is_free) bucket_.take(now_us, 1, kLimit);
        ++(is_free ? counters_.made : counters_.refused_rate);
        return is_free;
    }
    // Likewise, whether another request may wait.
    bool may_wait(size_t waiting) {
        if (waiting < kMaxWaiting) return true;
        ++counters_.refused_waiting;
        return false;
    }
    const Counters& counters() const { return counters_; }

  private:
    // The bucket lets one more pass than its burst, whatever its size.
    static constexpr srt::TokenBucket::Limit kLimit{kPerSecond, kBurst - 1};
    srt::TokenBucket bucket_;
    Counters counters_;
};

}  // namespace service::api

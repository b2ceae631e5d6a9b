#pragma once
// Backoff: the pauses between attempts at what fails again and again. Each is twice as long as the one before it, up to
// a limit. Pure: random numbers are handed in.

#include <algorithm>
#include <cstdint>

#include "runtime/loop/random.h"

namespace runtime {

class Backoff {
  public:
    // Both in ms.
    constexpr Backoff(int64_t first_ms, int64_t longest_ms) : first_ms_(first_ms), longest_ms_(longest_ms) {}

    // The attempt has failed: how long to wait before the next one, ms.
    constexpr int64_t next_ms() {
        const uint32_t doublings = std::min(failures_, kMaxDoublings);
        failures_ = doublings + 1;
        return std::min(first_ms_ << doublings, longest_ms_);
    }
    // It works: the next pause is the first one again.
    constexpr void reset() { failures_ = 0; }

  private:
    static constexpr uint32_t kMaxDoublings = 20;

    int64_t first_ms_, longest_ms_;
    uint32_t failures_ = 0;  // since it last worked, as far as they count
};

// A quarter more or less, by a random number: what failed at one moment is not tried again at one moment.
constexpr int64_t varied_ms(int64_t ms, uint64_t random) {
    return ms * 3 / 4 + static_cast<int64_t>(random % static_cast<uint64_t>(ms / 2 + 1));
}
inline int64_t varied_ms(int64_t ms) { return varied_ms(ms, random_u64()); }

}  // namespace runtime

#pragma once
// Deadline: the point in time by which a call that may yield must be done, by the loop's clock. A function without a
// Deadline parameter never yields.

#include <algorithm>
#include <cstdint>

#include "runtime/loop/clock.h"

namespace runtime {

class Deadline {
  public:
    static Deadline never() { return Deadline(INT64_MAX); }
    static Deadline in_ms(int64_t ms) { return Deadline(now_us() + ms * 1000); }
    static Deadline at_us(int64_t time_us) { return Deadline(time_us); }

    bool is_never() const { return at_us_ == INT64_MAX; }
    int64_t at_us() const { return at_us_; }
    bool passed() const { return !is_never() && now_us() >= at_us_; }
    // Microseconds left, at least 0; INT64_MAX for never.
    int64_t left_us() const { return is_never() ? INT64_MAX : std::max<int64_t>(0, at_us_ - now_us()); }
    friend Deadline earlier(Deadline a, Deadline b) { return Deadline(std::min(a.at_us_, b.at_us_)); }

  private:
    explicit Deadline(int64_t at_us) : at_us_(at_us) {}
    int64_t at_us_;
};

}  // namespace runtime

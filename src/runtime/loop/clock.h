#pragma once
// The clock of the event loop: the machine's monotonic clock, or in a test one that SimulatedTime moves. Deadlines and
// timers go by it, so code that also waits must read this clock: times of another one do not compare with deadlines.
// Only for the loop's thread. Other threads, and measurements of work, use base::monotonic_us().

#include <cstdint>

#include "base/clock.h"

namespace runtime {

namespace detail {
struct LoopClock {
    int64_t stopped_at_us = 0;  // it stands still at this time; 0: it runs
    int64_t ahead_us = 0;       // of the machine's clock: it never goes back, not even after a simulation
};
// Changed by SimulatedTime only.
inline constinit LoopClock loop_clock;

// The loop's time at that time of the machine's clock.
inline int64_t loop_time(int64_t monotonic_us) {
    if (loop_clock.stopped_at_us != 0) [[unlikely]]
        return loop_clock.stopped_at_us;
    return monotonic_us + loop_clock.ahead_us;
}
}  // namespace detail

inline int64_t now_us() { return detail::loop_time(base::monotonic_us()); }
inline int64_t now_ms() { return now_us() / 1000; }

// The time of one event, read from the clock when it is first needed: most frames need none.
class EventTime {
  public:
    EventTime() = default;
    explicit EventTime(int64_t us) : us_(us) {}
    int64_t us() {
        if (us_ == 0) us_ = now_us();
        return us_;
    }
    int64_t ms() { return us() / 1000; }

  private:
    int64_t us_ = 0;
};

}  // namespace runtime

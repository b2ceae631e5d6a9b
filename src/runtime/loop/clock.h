#pragma once
// The clock of the event loop: the machine's monotonic clock, or in a test one that SimulatedTime moves. Deadlines and
// timers go by it, so code that also waits must read this clock: times of another one do not compare with deadlines.
// Only for the loop's thread. Other threads, and measurements of work, use base::monotonic_us().

#include <cstdint>

#include "base/clock.h"

namespace runtime {

namespace detail {
struct LoopClock {
    // Changed by SimulatedTime only.
    int64_t stopped_at_us = 0;  // it stands still at this time; 0: it runs
    int64_t ahead_us = 0;       // of the machine's clock: it never goes back, not even after a simulation
    // When the loop last came to something else, as far as somebody asked; 0: nobody did.
    int64_t event_us = 0;
};
inline constinit LoopClock loop_clock;
// The loop comes to something else: a coroutine runs on, or a handler is called.
inline void begin_event() { loop_clock.event_us = 0; }

// The loop's time at that time of the machine's clock.
inline int64_t loop_time(int64_t monotonic_us) {
    if (loop_clock.stopped_at_us != 0) [[unlikely]]
        return loop_clock.stopped_at_us;
    return monotonic_us + loop_clock.ahead_us;
}
}  // namespace detail

inline int64_t now_us() { return detail::loop_time(base::monotonic_us()); }
inline int64_t now_ms() { return now_us() / 1000; }

// The time of what the loop does now: the clock is read when somebody first asks since the coroutine runs on, or since
// the handler was called. All frames of one read have one time. Not for the length of work.
inline int64_t event_us() {
    if (detail::loop_clock.stopped_at_us != 0) [[unlikely]]
        return detail::loop_clock.stopped_at_us;
    if (detail::loop_clock.event_us == 0) detail::loop_clock.event_us = now_us();
    return detail::loop_clock.event_us;
}
inline int64_t event_ms() { return event_us() / 1000; }

}  // namespace runtime

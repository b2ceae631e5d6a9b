#pragma once
// Timer: calls its owner at a time, in ticks of 5 ms. All timers share a wheel, a coroutine and its one wait: hundreds
// of coroutines that each wait for a time of their own would be most of what they do. For what is due often; a
// coroutine that has its own work to do sleeps.

#include <cstdint>

#include "base/result.h"
#include "runtime/loop/tick_wheel.h"

namespace runtime {

class Timer : private TickWheel::Entry {
  public:
    using Entry::cancel;
    using Entry::due_ms;
    using Entry::is_set;

    // on_due() is called once: in the tick of that time by the loop's clock, or the next one. Replaces the time that
    // was set before.
    void set(int64_t at_ms);
    // In so many ms, on the grid of this interval: up to a step of it sooner. For what is done again and again.
    void set_after(int64_t interval_ms);

  protected:
    ~Timer() = default;
    // In the coroutine of the timers. Must not yield.
    virtual void on_due() = 0;

  private:
    friend struct TimerLoop;
};

namespace detail {
base::Result<void> start_timers();
void stop_timers();  // all timers are cancelled
}  // namespace detail

}  // namespace runtime

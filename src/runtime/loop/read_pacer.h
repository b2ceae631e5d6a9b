#pragma once
// Internal. Reading at intervals instead of by events: events of a paced descriptor report its end but not input; at
// each interval its reader is woken and tries to read. Several arrivals then cost one wake-up, one recv and one
// acknowledgement. Long intervals end at few times (TickWheel::grid_ms), so that the process is woken seldom.

#include <algorithm>
#include <cstdint>

#include "runtime/loop/timers.h"

namespace runtime::detail {

class Watch;

class ReadPacer final : public Timer {
  public:
    static constexpr int64_t kMaxIntervalMs = 10'000;

    // In whole ticks; 0: events report input.
    static int64_t rounded(int64_t interval_ms) {
        return std::clamp<int64_t>(interval_ms, 0, kMaxIntervalMs) / TickWheel::kTickMs * TickWheel::kTickMs;
    }

    explicit ReadPacer(Watch& watch) : watch_(watch) {}

    int64_t interval_ms() const { return interval_ms_; }
    // The next poll is at most so much later than now.
    void set_interval(int64_t interval_ms);
    // The reader was polled already, in place of the next poll.
    void skip_next() { skips_ = true; }
    // There was much input: the next poll comes with the next tick.
    void hurry();

  private:
    void on_due() override;

    Watch& watch_;
    int64_t interval_ms_ = 0;
    bool skips_ = false;
};

}  // namespace runtime::detail

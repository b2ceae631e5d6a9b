#pragma once
// For tests: SimulatedTime stops the loop's clock. Time passes only within pass_ms(), without real waiting, so what a
// test sees does not depend on the machine's speed.
//
// Deadlines, sleeps and waits of all coroutines go by it. Threads do not: what a thread or the kernel does still takes
// real time. The test itself must not sleep while the clock stands still: nobody would move it. Such a test is ended by
// a signal.

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/reactor.h"

namespace runtime::testing {

class SimulatedTime {
  public:
    SimulatedTime() {
        CHECK(detail::loop_clock.stopped_at_us == 0);
        stop_at(now_us());
    }
    // The clock runs on from the simulated time: what waits for a deadline in the simulated future comes to it.
    ~SimulatedTime() {
        auto& clock = detail::loop_clock;
        clock.ahead_us = std::max(clock.ahead_us, clock.stopped_at_us - base::monotonic_us());
        clock.stopped_at_us = 0;
        detail::begin_event();  // a time of before the simulation would be a step back
        alarm(0);
    }
    SimulatedTime(const SimulatedTime&) = delete;

    // The clock moves from deadline to deadline, and at each of them all coroutines run that are ready or due.
    void pass_ms(int64_t ms) {
        const int64_t end = now_us() + ms * 1000;
        settle();
        while (now_us() < end) {
            stop_at(std::min(end, next_deadline(now_us())));
            settle();
        }
    }
    // Runs all coroutines until each waits for input or for a later time.
    void settle() {
        // A coroutine that always yields is never done.
        constexpr int kMaxPasses = 1000;
        for (int pass = 0; pass < kMaxPasses; ++pass) {
            const uint64_t polled = detail::reactor_counters().iterations;
            (void)yield();
            // Without events, what was ready has run before the poll.
            if (polled == detail::reactor_counters().iterations && next_deadline(-1) > now_us()) return;
        }
    }

  private:
    // state-threads counts in whole milliseconds, rounded up.
    static constexpr int64_t kTickUs = 1000;
    static constexpr unsigned kMaxIdleS = 60;  // of real time, from one call to the next

    void stop_at(int64_t us) {
        detail::loop_clock.stopped_at_us = (us + kTickUs - 1) / kTickUs * kTickUs;
        alarm(kMaxIdleS);
    }
    // The first one after that time, of all other coroutines; INT64_MAX: there is none.
    static int64_t next_deadline(int64_t after_us) {
        int64_t next = INT64_MAX;
        for (const auto* one = detail::first_coroutine(); one; one = one->next)
            if (one->waits_for && one->waits_until_us > after_us) next = std::min(next, one->waits_until_us);
        return next;
    }
};

}  // namespace runtime::testing

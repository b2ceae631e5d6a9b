#include "runtime/loop/timers.h"

#include <optional>

#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/immortal.h"

namespace runtime {

struct TimerLoop {
    std::optional<TickWheel> wheel;
    base::Ref<detail::Coroutine> coroutine;
    int64_t sleeps_until_ms = 0;
    bool stopping = false;

    void run();
    void call_due();
};

namespace {

detail::Immortal<TimerLoop> immortal_timers;
TimerLoop& timer_loop = immortal_timers.value;

// So many are called at once: each may have woken a coroutine, and these run before the next ones are called.
constexpr size_t kCallsAtOnce = 16;
constexpr size_t kTimersStackBytes = 256 * 1024;

}  // namespace

void Timer::set(int64_t at_ms) {
    timer_loop.wheel->set(*this, at_ms);
    if (due_ms() < timer_loop.sleeps_until_ms) {
        timer_loop.sleeps_until_ms = due_ms();
        detail::wake(*timer_loop.coroutine);
    }
}

void Timer::set_after(int64_t interval_ms) {
    const int64_t grid_ms = TickWheel::grid_ms(interval_ms);
    set((event_ms() + interval_ms) / grid_ms * grid_ms);
}

void TimerLoop::call_due() {
    size_t called = 0;
    while (auto* entry = wheel->pop(now_ms())) {
        {
            detail::NoYield guard;
            detail::begin_event();
            static_cast<Timer*>(entry)->on_due();
        }
        if (++called % kCallsAtOnce == 0) (void)yield();
        if (stopping) return;
    }
}

void TimerLoop::run() {
    while (!stopping) {
        call_due();
        if (stopping) return;  // it was woken for that where it yielded
        sleeps_until_ms = wheel->next_ms();
        const auto until = sleeps_until_ms == INT64_MAX ? Deadline::never() : Deadline::at_us(sleeps_until_ms * 1000);
        [[maybe_unused]] const auto how = detail::suspend(until, {"the next timer"}, false);
        sleeps_until_ms = 0;
    }
}

namespace detail {

base::Result<void> start_timers() {
    timer_loop.wheel.emplace(now_ms());
    timer_loop.stopping = false;
    timer_loop.coroutine = start_coroutine(
        "timers", [] { timer_loop.run(); }, kTimersStackBytes);
    if (!timer_loop.coroutine) return base::fail_errno("no memory for the stack of timers", ENOMEM);
    return {};
}

void stop_timers() {
    timer_loop.stopping = true;
    wake(*timer_loop.coroutine);
    join_uncancelled(*timer_loop.coroutine);
    timer_loop.coroutine.reset();
    timer_loop.wheel.reset();
}

}  // namespace detail
}  // namespace runtime

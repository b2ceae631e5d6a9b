#include "runtime/loop/timeouts.h"

#include <utility>

#include "runtime/loop/coroutine_state.h"

namespace runtime::detail {

bool Timeouts::wait(Coroutine& me, Deadline deadline) {
    if (me.timeout_at_us > deadline.at_us()) {
        set(me, deadline.at_us());
        if (deadline.at_us() < runner_until_us_) {
            runner_until_us_ = deadline.at_us();
            wake(*runner_);
        }
    }
    me.in_timeouts = true;
    me.late = false;
    st_cond_wait(me.condition);
    me.in_timeouts = false;
    return me.late;
}

void Timeouts::forget(Coroutine& coroutine) {
    entries_.erase({coroutine.timeout_at_us, &coroutine});
    coroutine.timeout_at_us = Coroutine::kNoTimeout;
}

void Timeouts::run(const bool& stopping) {
    runner_ = &current();
    while (!stopping) {
        const auto now_us = static_cast<int64_t>(st_utime_last_clock());
        while (!entries_.empty() && entries_.begin()->first <= now_us) check(*entries_.begin()->second, now_us);
        runner_until_us_ = entries_.empty() ? Deadline::never().at_us() : entries_.begin()->first;
        [[maybe_unused]] const Wake how = suspend(Deadline::at_us(runner_until_us_), {"the next timeout"}, false);
    }
    while (!entries_.empty()) forget(*entries_.begin()->second);
    runner_ = nullptr;
    runner_until_us_ = 0;
}

void Timeouts::check(Coroutine& coroutine, int64_t now_us) {
    if (coroutine.in_timeouts && coroutine.waits_until_us > now_us) return set(coroutine, coroutine.waits_until_us);
    forget(coroutine);
    if (!coroutine.in_timeouts) return;
    coroutine.late = true;
    wake(coroutine);
}

void Timeouts::set(Coroutine& coroutine, int64_t at_us) {
    auto entry = entries_.extract({std::exchange(coroutine.timeout_at_us, at_us), &coroutine});
    if (entry.empty()) {
        entries_.emplace(at_us, &coroutine);
    } else {
        entry.value().first = at_us;
        entries_.insert(std::move(entry));
    }
}

}  // namespace runtime::detail

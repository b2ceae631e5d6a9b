#include "runtime/loop/read_pacer.h"

#include <algorithm>

#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/reactor.h"

namespace runtime::detail {
namespace {

constexpr int64_t kTickUs = ReadPacer::kTickMs * 1000;

int64_t current_tick() { return now_us() / kTickUs; }

// Polls at long intervals are made at every second or tenth tick, which many descriptors share: the process is woken
// less often, and together with the passes over viewers, which are at multiples of 50 ms.
int64_t ticks_apart(int64_t interval) {
    constexpr int64_t kLong = 150 / ReadPacer::kTickMs, kMedium = 40 / ReadPacer::kTickMs;
    return interval >= kLong ? 10 : interval >= kMedium ? 2 : 1;
}

int64_t shared_tick_after(int64_t due, int64_t interval) {
    const int64_t apart = ticks_apart(interval);
    return (due + apart - 1) / apart * apart;
}

int64_t shared_tick_before(int64_t due, int64_t interval) { return due - due % ticks_apart(interval); }

}  // namespace

void ReadPacer::put(Ticket ticket, int64_t due) {
    slots_[static_cast<size_t>(due) % kSlots].push_back({ticket, due});
    ++polls_;
}

// A group is polled at one time of the interval, and the next group at the next time.
void ReadPacer::add(Ticket ticket, int64_t interval) {
    const int64_t phase = added_++ / kGroup * ticks_apart(interval) % interval, next = current_tick() + 1;
    const int64_t due = shared_tick_after(next + (phase + interval - next % interval) % interval, interval);
    put(ticket, due);
    if (due < waits_for_ && coroutine_) wake(*coroutine_);
}

void ReadPacer::run_polls(size_t slot, int64_t tick, Find find) {
    taken_.swap(slots_[slot]);
    const size_t at_once = std::max(kMinAtOnce, (taken_.size() + 3) / 4);
    size_t woken = 0;
    for (const Poll& poll : taken_) {
        --polls_;
        // Not after the next tick has begun: late readers would be delayed further.
        if (woken == at_once && current_tick() == tick) {
            pause();
            woken = 0;
        }
        if (poll.due > tick) {
            put(poll.ticket, poll.due);
        } else if (Watch* watch = find(poll.ticket)) {
            const Watch::Paced paced = watch->wake_paced_reader();
            woken += paced.woken;
            if (paced.interval != 0) put(poll.ticket, shared_tick_before(tick + paced.interval, paced.interval));
        }
    }
    taken_.clear();
}

void ReadPacer::pause() { [[maybe_unused]] const Wake how = suspend(Deadline::at_us(0), {"a part of a tick"}, false); }

// The tick of the next poll, or earlier: a slot also holds entries that are due a whole round later.
int64_t ReadPacer::next_due(int64_t tick) const {
    if (polls_ == 0) return INT64_MAX;
    int64_t due = tick + 1;
    while (slots_[static_cast<size_t>(due) % kSlots].empty()) ++due;
    return due;
}

void ReadPacer::run(const bool& stopping, Find find) {
    coroutine_ = &current();
    int64_t done = current_tick();
    while (!stopping) {
        const int64_t now = current_tick();
        done = std::max(done, now - static_cast<int64_t>(kSlots));
        while (done < now) run_polls(static_cast<size_t>(++done) % kSlots, now, find);
        waits_for_ = next_due(now);
        const auto until = waits_for_ == INT64_MAX ? Deadline::never() : Deadline::at_us(waits_for_ * kTickUs);
        [[maybe_unused]] const Wake how = suspend(until, {"the next tick"}, false);
    }
    coroutine_ = nullptr;
    *this = {};
}

}  // namespace runtime::detail

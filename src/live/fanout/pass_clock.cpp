#include "live/fanout/pass_clock.h"

#include <algorithm>
#include <utility>

#include "live/fanout/audience.h"
#include "live/fanout/fanout.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"

namespace live {

bool PassClock::add(Audience& audience, int64_t at_ms) {
    if (!running_) {
        done_ = waits_for_ = runtime::now_ms() / kTickMs;
        running_ =
            static_cast<bool>(runtime::spawn("pass-clock", [this, fanout = base::Ref<Fanout>(&fanout_)] { run(); }));
        if (!running_) return false;
    }
    const int64_t tick = std::max((at_ms + kTickMs - 1) / kTickMs, done_ + 1);
    slots_[static_cast<size_t>(tick) % kSlots].push_back({&audience, tick});
    audience.due_tick_ = tick;
    ++count_;
    if (tick < waits_for_) sooner_.pulse();
    return true;
}

void PassClock::remove(Audience& audience) {
    if (audience.due_tick_ == 0) return;
    auto& slot = slots_[static_cast<size_t>(std::exchange(audience.due_tick_, 0)) % kSlots];
    std::erase_if(slot, [&](const Pass& pass) { return pass.audience == &audience; });
    for (Pass& pass : taken_)
        if (pass.audience == &audience) pass.audience = nullptr;
    if (--count_ == 0) sooner_.pulse();
}

int64_t PassClock::next_tick() const {
    int64_t tick = done_ + 1;
    while (slots_[static_cast<size_t>(tick) % kSlots].empty()) ++tick;
    return tick;
}

void PassClock::run_tick(int64_t tick) {
    taken_.swap(slots_[static_cast<size_t>(tick) % kSlots]);
    size_t begun = 0;
    for (const Pass& pass : taken_) {
        if (begun == kAtOnce) {
            (void)runtime::yield();
            begun = 0;
        }
        if (!pass.audience) continue;
        if (pass.tick > tick) {
            slots_[static_cast<size_t>(tick) % kSlots].push_back(pass);
            continue;
        }
        --count_;
        pass.audience->due_tick_ = 0;
        pass.audience->on_due();  // which does not yield
        ++begun;
    }
    taken_.clear();
}

void PassClock::run() {
    while (count_ > 0 && !runtime::cancelled()) {
        const int64_t now = runtime::now_ms() / kTickMs;
        done_ = std::max(done_, now - static_cast<int64_t>(kSlots));  // the loop has stalled
        while (done_ < now && count_ > 0) run_tick(++done_);
        if (count_ == 0) break;
        waits_for_ = next_tick();
        (void)sooner_.wait_next(runtime::Deadline::at_us(waits_for_ * kTickMs * 1000));
    }
    running_ = false;
}

}  // namespace live

#include "runtime/loop/timeouts.h"

#include "runtime/loop/coroutine_state.h"

namespace runtime::detail {

bool Timeouts::wait(Coroutine& me, Deadline deadline) {
    if (me.timeout_slot == Coroutine::kNoSlot || heap_[me.timeout_slot].at_us > deadline.at_us())
        enter(me, deadline.at_us());
    me.in_timeouts = true;
    me.late = false;
    st_cond_wait(me.condition);
    me.in_timeouts = false;
    return me.late;
}

void Timeouts::forget(Coroutine& coroutine) {
    if (coroutine.timeout_slot != Coroutine::kNoSlot) remove(coroutine.timeout_slot);
}

void Timeouts::run(const bool& stopping) {
    runner_ = &current();
    while (!stopping) {
        const auto now_us = static_cast<int64_t>(st_utime_last_clock());
        while (!heap_.empty() && heap_.front().at_us <= now_us) look_at(*heap_.front().coroutine, now_us);
        runner_until_us_ = heap_.empty() ? Deadline::never().at_us() : heap_.front().at_us;
        [[maybe_unused]] const Wake how = suspend(Deadline::at_us(runner_until_us_), {"the next timeout"}, false);
    }
    while (!heap_.empty()) remove(heap_.size() - 1);
    runner_ = nullptr;
    runner_until_us_ = 0;
}

void Timeouts::look_at(Coroutine& coroutine, int64_t now_us) {
    if (coroutine.in_timeouts && coroutine.waits_until_us > now_us)
        return sift_down(0, {coroutine.waits_until_us, &coroutine});
    remove(0);
    if (!coroutine.in_timeouts) return;
    coroutine.late = true;
    wake(coroutine);
}

void Timeouts::enter(Coroutine& coroutine, int64_t at_us) {
    if (coroutine.timeout_slot == Coroutine::kNoSlot) {
        heap_.emplace_back();
        sift_up(heap_.size() - 1, {at_us, &coroutine});
    } else {
        sift_up(coroutine.timeout_slot, {at_us, &coroutine});
    }
    if (at_us < runner_until_us_) {
        runner_until_us_ = at_us;
        wake(*runner_);
    }
}

void Timeouts::remove(size_t slot) {
    heap_[slot].coroutine->timeout_slot = Coroutine::kNoSlot;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (slot == heap_.size()) return;
    if (slot > 0 && last.at_us < heap_[(slot - 1) / 2].at_us)
        sift_up(slot, last);
    else
        sift_down(slot, last);
}

void Timeouts::put(size_t slot, Entry entry) {
    heap_[slot] = entry;
    entry.coroutine->timeout_slot = static_cast<uint32_t>(slot);
}

void Timeouts::sift_up(size_t slot, Entry entry) {
    while (slot > 0) {
        const size_t parent = (slot - 1) / 2;
        if (heap_[parent].at_us <= entry.at_us) break;
        put(slot, heap_[parent]);
        slot = parent;
    }
    put(slot, entry);
}

void Timeouts::sift_down(size_t slot, Entry entry) {
    while (true) {
        size_t child = 2 * slot + 1;
        if (child >= heap_.size()) break;
        if (child + 1 < heap_.size() && heap_[child + 1].at_us < heap_[child].at_us) ++child;
        if (heap_[child].at_us >= entry.at_us) break;
        put(slot, heap_[child]);
        slot = child;
    }
    put(slot, entry);
}

}  // namespace runtime::detail

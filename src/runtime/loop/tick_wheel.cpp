#include "runtime/loop/tick_wheel.h"

#include <algorithm>
#include <bit>

namespace runtime {

void TickWheel::Entry::cancel() {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = this;
}

void TickWheel::Entry::insert_before(Entry& other) {
    previous_ = other.previous_;
    next_ = &other;
    previous_->next_ = other.previous_ = this;
}

void TickWheel::mark(size_t slot, bool used) {
    const uint64_t bit = uint64_t{1} << slot % kWordBits;
    uint64_t& word = used_[slot / kWordBits];
    word = used ? word | bit : word & ~bit;
}

void TickWheel::set(Entry& entry, int64_t at_ms) {
    entry.cancel();
    entry.tick_ = std::max((at_ms + kTickMs - 1) / kTickMs, done_ + 1);
    const size_t slot = slot_of(entry.tick_);
    entry.insert_before(slots_[slot]);
    mark(slot, true);
}

int64_t TickWheel::next_used_tick(int64_t tick) const {
    for (const int64_t end = tick + static_cast<int64_t>(kSlots); ++tick <= end;) {
        const size_t slot = slot_of(tick), bit = slot % kWordBits;
        if (const uint64_t rest = used_[slot / kWordBits] >> bit; rest != 0) return tick + std::countr_zero(rest);
        tick += static_cast<int64_t>(kWordBits - bit) - 1;
    }
    return tick;
}

// Moves what is due; what is due in a later round stays.
void TickWheel::collect(size_t slot, int64_t now) {
    Entry& head = slots_[slot];
    for (Entry* entry = head.next_; entry != &head;) {
        Entry* next = entry->next_;
        if (entry->tick_ <= now) {
            entry->cancel();
            entry->insert_before(due_);
        }
        entry = next;
    }
    mark(slot, head.is_set());
}

TickWheel::Entry* TickWheel::pop(int64_t now_ms) {
    const int64_t now = now_ms / kTickMs;
    while (!due_.is_set() && done_ < now) {
        // After a long pause each slot is emptied once.
        done_ = std::min(next_used_tick(std::max(done_, now - static_cast<int64_t>(kSlots))), now);
        collect(slot_of(done_), now);
    }
    if (!due_.is_set()) return nullptr;
    Entry* entry = due_.next_;
    entry->cancel();
    return entry;
}

int64_t TickWheel::next_ms() {
    if (due_.is_set()) return due_.next_->due_ms();
    const int64_t end = done_ + static_cast<int64_t>(kSlots);
    for (int64_t tick = done_; (tick = next_used_tick(tick)) <= end;) {
        if (slots_[slot_of(tick)].is_set()) return tick * kTickMs;
        mark(slot_of(tick), false);
    }
    return INT64_MAX;
}

}  // namespace runtime

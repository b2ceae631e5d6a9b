#pragma once
// TickWheel: what is due when, in slots of 5 ms. Setting, moving and cancelling an entry takes the same short time,
// however many there are. Pure: the time is handed in, in milliseconds of any clock that never goes back.

#include <array>
#include <cstddef>
#include <cstdint>

namespace runtime {

class TickWheel {
  public:
    static constexpr int64_t kTickMs = 5;

    // An entry ends its membership itself, when it is destroyed too. It must not outlive the wheel while it is set.
    class Entry {
      public:
        Entry() = default;
        Entry(const Entry&) = delete;
        ~Entry() { cancel(); }
        bool is_set() const { return next_ != this; }
        // The time at which it is due, or was due last: a multiple of kTickMs.
        int64_t due_ms() const { return tick_ * kTickMs; }
        void cancel();

      private:
        friend class TickWheel;
        void insert_before(Entry& other);
        Entry* previous_ = this;
        Entry* next_ = this;
        int64_t tick_ = 0;
    };

    // What is done at this interval shares few times, so that the process is woken seldom: at multiples of this.
    static constexpr int64_t grid_ms(int64_t interval_ms) {
        return interval_ms >= 150 ? 50 : interval_ms >= 40 ? 10 : kTickMs;
    }

    explicit TickWheel(int64_t now_ms) : done_(now_ms / kTickMs) {}

    // Due at that time, rounded up to a tick that pop() has not passed. Replaces the entry's former time.
    void set(Entry& entry, int64_t at_ms);
    // Takes out an entry that is due; null: there is none. The order is that of the ticks, and within a tick that of
    // set(). An entry that is set meanwhile is due in a later tick.
    Entry* pop(int64_t now_ms);
    // When pop() is to be called next, INT64_MAX: there are no entries. It may be too early after an entry was
    // cancelled, or for an entry that is due more than a round of the slots later.
    int64_t next_ms();

  private:
    static constexpr size_t kSlots = 1024;  // 5.12 s
    static constexpr size_t kWordBits = 64;

    static size_t slot_of(int64_t tick) { return static_cast<size_t>(tick) % kSlots; }
    // The first tick after that one whose slot may have entries; at most a round later.
    int64_t next_used_tick(int64_t tick) const;
    void mark(size_t slot, bool used);
    void collect(size_t slot, int64_t now);

    std::array<Entry, kSlots> slots_;                  // the head of a ring of entries each
    std::array<uint64_t, kSlots / kWordBits> used_{};  // by bits; a slot without a bit has no entries
    Entry due_;                                        // the head of those that pop() has still to return
    int64_t done_;                                     // the last tick whose slot was emptied
};

}  // namespace runtime

#pragma once
// Internal. Reading at intervals instead of by events: events of a paced descriptor report its end but not input; at
// each interval its reader is woken and tries to read. Several arrivals then cost one wake-up, one recv and one
// acknowledgement. The polls of many are spread over the interval, so that the load is even; those of few are made at
// one time, so that the process is woken seldom.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace runtime::detail {

class Coroutine;
class Watch;

class ReadPacer {
  public:
    static constexpr int64_t kTickMs = 5;
    static constexpr int64_t kMaxIntervalMs = 10'000;
    static constexpr uint32_t kGroup = 128;  // descriptors that are polled at one time of their interval

    // A descriptor of the event loop. Find: returns the watch that the ticket still belongs to, or null.
    struct Ticket {
        int fd;
        uint32_t generation;
    };
    using Find = Watch* (*)(Ticket);

    // Polls the descriptor from now on, every `interval` ticks, for as long as its watch requests it.
    void add(Ticket ticket, int64_t interval);
    // The body of the pacer's coroutine; returns when stopping is set.
    void run(const bool& stopping, Find find);

  private:
    struct Poll {
        Ticket ticket;
        int64_t due;  // in ticks
    };
    static constexpr size_t kSlots = 128;  // what is due later than in a round of them waits for another round
    // The number of readers woken at once, or a quarter of the tick's readers if that is more: other coroutines run in
    // between.
    static constexpr size_t kMinAtOnce = 16;

    void put(Ticket ticket, int64_t due);
    void run_polls(size_t slot, int64_t tick, Find find);
    void pause();
    int64_t next_due(int64_t tick) const;

    std::array<std::vector<Poll>, kSlots> slots_;  // by due
    std::vector<Poll> taken_;                      // the slot that is being processed
    Coroutine* coroutine_ = nullptr;
    size_t polls_ = 0;       // in all slots
    int64_t waits_for_ = 0;  // the tick it sleeps until
    uint32_t added_ = 0;     // descriptors, each of which belongs to a group; wraps
};

}  // namespace runtime::detail

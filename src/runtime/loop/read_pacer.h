#pragma once
// Internal. Reading by turns instead of by events: a paced descriptor tells of its end but not of input; every so often
// its reader is woken and looks. Several arrivals then cost one wake-up, one recv and one acknowledgement. Turns are
// spread over the interval, so that the load is even.

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
    static constexpr int64_t kLongestMs = 10'000;

    // A descriptor of the event loop. find: the watch that it still belongs to, or null.
    struct Ticket {
        int fd;
        uint32_t generation;
    };
    using Find = Watch* (*)(Ticket);

    // Takes turns from now on, every interval ticks, for as long as its watch wants them.
    void add(Ticket ticket, int64_t interval);
    // The body of its coroutine, until stopping.
    void run(const bool& stopping, Find find);

  private:
    struct Turn {
        Ticket ticket;
        int64_t due;  // in ticks
    };
    static constexpr size_t kSlots = 64;
    // So many readers are woken at once, or a quarter of a tick's where there are more: in between, others run.
    static constexpr size_t kLeastAtOnce = 16;

    void put(Ticket ticket, int64_t due);
    void take_turns(size_t slot, int64_t tick, Find find);
    void pause();
    int64_t next_due(int64_t tick) const;

    std::array<std::vector<Turn>, kSlots> slots_;  // by due
    std::vector<Turn> taken_;                      // the slot whose turn it is
    Coroutine* coroutine_ = nullptr;
    size_t turns_ = 0;       // in all slots
    int64_t waits_for_ = 0;  // the tick it sleeps until
    uint32_t spread_ = 0;    // gives each new one another place in its interval
};

}  // namespace runtime::detail

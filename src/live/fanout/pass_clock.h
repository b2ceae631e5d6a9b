#pragma once
// PassClock: when the passes over few viewers are due, for the audiences of all streams of a Registry. One coroutine
// and one timer for all of them: hundreds of coroutines that each wait for a timer would be most of what their passes
// cost.

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/loop/sync.h"

namespace live {

class Audience;
class Fanout;

class PassClock {
  public:
    // Passes are due at multiples of it, or up to so much later.
    static constexpr int64_t kTickMs = 10;

    explicit PassClock(Fanout& fanout) : fanout_(fanout) {}
    PassClock(const PassClock&) = delete;

    // Calls on_due() once, at that time or in the next tick. False: there is no coroutine for it.
    bool add(Audience& audience, int64_t at_ms);
    // It need not have been added.
    void remove(Audience& audience);

  private:
    static constexpr size_t kSlots = 64;  // what is due later than in a round of them waits for another round
    struct Pass {
        Audience* audience;  // null: removed
        int64_t tick;
    };
    // So many passes are begun at once; other coroutines run before the next ones.
    static constexpr size_t kAtOnce = 16;
    void run();
    void run_tick(int64_t tick);
    int64_t next_tick() const;  // there is a pass

    Fanout& fanout_;
    std::array<std::vector<Pass>, kSlots> slots_;  // by tick
    std::vector<Pass> taken_;                      // those of the tick that is run
    size_t count_ = 0;
    int64_t done_ = 0;       // the tick whose passes have begun
    int64_t waits_for_ = 0;  // the coroutine waits for this tick
    bool running_ = false;
    runtime::Event sooner_{"the next pass over few viewers"};
};

}  // namespace live

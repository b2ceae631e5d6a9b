#pragma once
// Internal. Deadlines that are far off and seldom reached: of a connection's reads and writes, of which each is
// followed by the next with a later deadline. state-threads keeps its timers in a heap of pointers into stacks, which
// every wait enters and every wake-up leaves. Here a coroutine has one entry in an ordered set, and it stays where
// it is while the coroutine is woken and waits again: the entry says when to look at the coroutine, which is never
// after its deadline. When the time has come, the entry moves on to the deadline that the coroutine waits for by then.
// (doc/decisions/140)

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "runtime/loop/deadline.h"

namespace runtime::detail {

class Coroutine;

class Timeouts {
  public:
    // Deadlines closer than this are state-threads' own: most are reached, and an entry would save nothing.
    static constexpr int64_t kFarUs = 1'000'000;

    // Yields until the coroutine, which runs, is woken; true: the deadline came before. The deadline may not be
    // never().
    bool wait(Coroutine& me, Deadline deadline);
    // The coroutine ends.
    void forget(Coroutine& coroutine);
    // A coroutine's body: wakes those that are late, until stopping and woken.
    void run(const bool& stopping);
    size_t size() const { return entries_.size(); }

  private:
    // The coroutine's entry is at that time from now on.
    void set(Coroutine& coroutine, int64_t at_us);
    // Of the first entry.
    void check(Coroutine& coroutine, int64_t now_us);

    std::set<std::pair<int64_t, Coroutine*>> entries_;  // the earliest first
    Coroutine* runner_ = nullptr;
    int64_t runner_until_us_ = 0;  // it sleeps until then; 0: it looks at the entries before it sleeps, or does not run
};

}  // namespace runtime::detail

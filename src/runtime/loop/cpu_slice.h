#pragma once
// CpuSlice: a long walk gives way to others by what it has used of the processor, not by how many things it has seen.
// Each giving way may cost a turn of all that are ready, so a cheap walk should not do it often, and a dear one not
// seldom. What other processes take of the time meanwhile is not the walk's.

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace runtime {

// Processor time of this thread.
int64_t thread_cpu_us();

// What one that has much to do takes at a time; half of it where others have made the loop's turn long already, for
// everybody's turns add up before the loop looks at its sockets again.
constexpr int64_t kSliceUs = 500;
constexpr int64_t kLongTurnUs = 1'000;
// What one coroutine may make of a turn, whatever its peer sends.
constexpr int64_t kLongestTurnUs = 5'000;
// Whether who has had the loop for so long should give way.
bool slice_is_over(int64_t own_us);
// Whether so much time has passed since the loop looked at its sockets.
bool turn_is_long(int64_t us);

// For one of perhaps hundreds that have something to do at the same moment, each a little: yields while the loop's turn
// is long already, not for ever. Whoever is cancelled does not wait.
void await_short_turn(int64_t long_us = kLongTurnUs, int max_turns = 200);

class CpuSlice {
  public:
    // The clock is a system call: it is looked at once in so many steps.
    explicit CpuSlice(size_t steps_a_look = 8) : steps_a_look_(steps_a_look), began_us_(thread_cpu_us()) {}
    // To be called between steps: yields when the slice is used up. kCancelled: the caller was cancelled meanwhile.
    base::Result<void> step();

  private:
    size_t steps_a_look_;
    size_t steps_ = 0;
    int64_t began_us_;
};

}  // namespace runtime

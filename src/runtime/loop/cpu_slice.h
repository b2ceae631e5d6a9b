#pragma once
// CpuSlice: a long loop over many items yields by the CPU time it has used, not by the number of items. Each yield may
// cost a run of every ready coroutine, so a cheap loop should yield rarely and an expensive one often. CPU time of
// other processes is not counted.

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace runtime {

// CPU time of this thread.
int64_t thread_cpu_us();

// CPU time that a coroutine with much work takes before it yields; half of it when others have already made the loop
// iteration long, because the slices of all coroutines add up before the loop polls its sockets again.
constexpr int64_t kSliceUs = 500;
constexpr int64_t kLongIterationUs = 1'000;
// The longest time for which one coroutine may extend an iteration, whatever its peer sends.
constexpr int64_t kMaxIterationUs = 5'000;
// Whether a coroutine that has run for own_us should yield.
bool slice_is_over(int64_t own_us);
// Whether more than `us` have passed since the loop polled its sockets.
bool iteration_is_long(int64_t us);

// For one of perhaps hundreds of coroutines that each have a little work at the same moment: yields while the loop
// iteration is long already, max_iterations times at most. Does not wait once the caller is cancelled.
void await_short_iteration(int64_t long_us = kLongIterationUs, int max_iterations = 200);

class CpuSlice {
  public:
    // Reading the clock is a system call: it is read once in steps_per_check steps.
    explicit CpuSlice(size_t steps_per_check = 8) : steps_per_check_(steps_per_check), began_us_(thread_cpu_us()) {}
    // To be called between steps: yields when the slice is used up. kCancelled: the caller was cancelled meanwhile.
    base::Result<void> step();

  private:
    size_t steps_per_check_;
    size_t steps_ = 0;
    int64_t began_us_;
};

}  // namespace runtime

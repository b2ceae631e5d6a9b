#include "runtime/loop/cpu_slice.h"

#include <ctime>

#include "base/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/pulse.h"

namespace runtime {

int64_t thread_cpu_us() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
}

bool iteration_is_long(int64_t us) {
    return base::monotonic_us() - detail::pulse.iteration_began_us.load(std::memory_order_relaxed) >= us;
}

bool slice_is_over(int64_t own_us) {
    if (own_us < kSliceUs / 2) return false;
    return own_us >= kSliceUs || iteration_is_long(kLongIterationUs);
}

void await_short_iteration(int64_t long_us, int max_iterations) {
    for (int i = 0; i < max_iterations && iteration_is_long(long_us); ++i)
        if (!yield()) return;
}

base::Result<void> CpuSlice::step() {
    if (++steps_ % steps_per_check_ != 0 || !slice_is_over(thread_cpu_us() - began_us_)) return {};
    TRY(yield());
    began_us_ = thread_cpu_us();
    return {};
}

}  // namespace runtime

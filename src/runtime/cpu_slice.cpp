#include "runtime/cpu_slice.h"

#include <ctime>

#include "runtime/coroutine.h"

namespace runtime {

int64_t thread_cpu_us() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
}

base::Result<void> CpuSlice::step() {
    if (++steps_ % steps_a_look_ != 0 || thread_cpu_us() - began_us_ < kSliceUs) return {};
    TRY(yield());
    began_us_ = thread_cpu_us();
    return {};
}

}  // namespace runtime

#include "runtime/loop/pulse.h"

#include <ctime>

#include "base/clock.h"

namespace runtime::detail {

constinit Pulse pulse;

void record_yield() {
    // Already a later iteration, which the watchdog has not checked yet.
    if (pulse.iterations.load(std::memory_order_relaxed) != pulse.stalled_iteration.load(std::memory_order_relaxed))
        return;
    timespec cpu;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    pulse.stall_cpu_us.store(cpu.tv_sec * 1'000'000LL + cpu.tv_nsec / 1000, std::memory_order_relaxed);
    pulse.yielded_us.store(base::monotonic_us(), std::memory_order_relaxed);
}

}  // namespace runtime::detail

#pragma once
// Internal. State that the loop publishes for observers outside its code: the watchdog's thread and the signal handlers
// that sample stacks. Plain stores; nothing here costs a system call. A global, because a signal handler cannot be
// given a reference; state-threads allows only one loop in a process anyway.

#include <atomic>
#include <cstdint>

#include "runtime/loop/clock.h"

namespace runtime::detail {

class Coroutine;

struct Pulse {
    // The running coroutine; null while all wait and state-threads polls or schedules.
    std::atomic<Coroutine*> running{nullptr};
    // Iterations of the loop, each from one poll to the next, and when the current one began.
    std::atomic<uint64_t> iterations{0};
    std::atomic<int64_t> iteration_began_us{0};
    // The iteration that the watchdog has found too long; the loop then records when it ends. 0: none.
    std::atomic<uint64_t> stalled_iteration{0};
    // In a stalled iteration: when its last coroutine yielded.
    std::atomic<int64_t> yielded_us{0};
    std::atomic<int64_t> stall_cpu_us{0};  // the thread's CPU time then
};
extern Pulse pulse;

// Called when the running coroutine has yielded.
void record_yield();
inline void no_coroutine_runs() {
    pulse.running.store(nullptr, std::memory_order_relaxed);
    if (pulse.stalled_iteration.load(std::memory_order_relaxed) != 0) [[unlikely]]
        record_yield();
}
inline void coroutine_runs(Coroutine& coroutine) {
    pulse.running.store(&coroutine, std::memory_order_relaxed);
    begin_event();
}
// Called after each poll.
inline void begin_iteration(int64_t now_us) {
    pulse.iteration_began_us.store(now_us, std::memory_order_relaxed);
    pulse.iterations.store(pulse.iterations.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace runtime::detail

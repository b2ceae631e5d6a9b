#pragma once
// Coroutines over state-threads: spawn, cancel, join, sleep, yield. One thread runs them all, one at a time; a switch
// happens only inside calls that take a Deadline (and in yield, sleep and join). Each coroutine's stack has a guard
// page; an overflow ends in a log line that names the coroutine.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime {

// Starts the event loop: state-threads in POLL mode on the monotonic clock, and the coroutine that drains our epoll
// set. Call it once, on the main thread, after daemonising and before anything else of runtime/. The caller becomes the
// first coroutine.
base::Result<void> init();
// Releases what init made, once all other coroutines have ended; for leak checkers.
void shutdown();

namespace detail {
class Coroutine;
}

// A handle to a coroutine. Dropping it detaches: the coroutine runs on. Copies share the coroutine.
class Task {
  public:
    Task();
    explicit Task(base::Ref<detail::Coroutine> coroutine);
    Task(const Task&);
    Task(Task&&) noexcept;
    Task& operator=(Task) noexcept;
    ~Task();

    explicit operator bool() const;
    bool done() const;
    // Every call in it that may yield returns Code::kCancelled from now on. Harmless on one that has ended.
    void cancel();
    // Waits for its end. kTimeout when the deadline passes first, kCancelled when the caller is cancelled.
    base::Result<void> join(Deadline deadline);
    void cancel_and_join();  // yields until it has ended, even if the caller is cancelled

  private:
    base::Ref<detail::Coroutine> coroutine_;
};

struct SpawnOptions {
    size_t stack_bytes = 64 * 1024;  // of address space; memory is used as it is touched
};

// The new coroutine starts when the caller yields. It inherits the log context id until it sets its own. If there is no
// memory for a stack, the Task is empty, and an error is logged.
Task spawn(std::string name, std::move_only_function<void()> body, SpawnOptions options = {});

// kCancelled: the caller was cancelled meanwhile.
base::Result<void> sleep_ms(int64_t ms);
base::Result<void> sleep_until(Deadline deadline);
// Until the next multiple of ms of the loop's clock: what several coroutines do at intervals shares a wake-up of the
// process (doc/decisions/160).
base::Result<void> sleep_to_multiple(int64_t ms);
// Lets every other ready coroutine and the event loop run once.
base::Result<void> yield();

bool cancelled();  // whether the running coroutine was cancelled
std::string_view current_name();
// The id that log lines, the API and hooks show for what this coroutine does: 8 characters as in SRS, e.g. "k3f92a0x".
void set_context_id(std::string id);
const std::string& context_id();
std::string new_context_id();  // random, unique enough: 8 of [a-z0-9]
// Runs something under another context id (a parked viewer's callback).
class ContextScope {
  public:
    explicit ContextScope(const std::string& id);
    ~ContextScope();

  private:
    std::string previous_;
};

struct CoroutineInfo {
    std::string name;
    std::string context_id;
    size_t stack_bytes = 0;
    size_t stack_used_bytes = 0;        // the maximum so far; painted in debug builds, 0 otherwise
    size_t stack_now_bytes = 0;         // in use now; 0 if it has not run yet
    const char* waits_for = "nothing";  // "input", "a timer" ...; "nothing" for the caller
    int fd = -1;                        // the descriptor it waits for, or -1
    int64_t waits_ms = 0;               // how long it has waited, by the loop's clock
    int64_t left_ms = -1;               // until its deadline; -1: no deadline
    std::vector<uintptr_t> calls;       // return addresses, innermost first: where it waits
};
// All coroutines that have not ended. `calls` is filled on request, kMaxCalls at most.
inline constexpr size_t kMaxCalls = 64;
std::vector<CoroutineInfo> list_coroutines(bool with_calls = false);
size_t coroutine_count();
// spawn() fails, as without memory, once there are max_count coroutines. For tests.
void limit_coroutines(size_t max_count);
// The deepest stack use of any coroutine of each name, where stacks are painted (SRS_DEBUG): for doc/runtime.md.
std::vector<CoroutineInfo> stack_high_water_marks();

}  // namespace runtime

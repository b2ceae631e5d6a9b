#pragma once
// The watchdog: a thread that notices when a loop iteration takes too long because a coroutine does not yield, or when
// one piece of work of a sender thread does (watched_thread.h). It
// samples the loop's thread by a signal. When the stall is over the log reports its length, the coroutine, the
// functions it was in, and whether the time went into our code, into a blocking call, or to other processes. The loop
// pays a few stores an iteration; the thread looks once per stall_warn, and again when what it saw has lasted that
// long. It also notices that the whole process stood still (SIGSTOP, a suspended or migrated machine): that is no stall
// of the loop.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace runtime {

enum class StallCause : uint8_t {
    kBusy,          // the thread had the CPU: our code is at fault
    kBlocked,       // it waited inside a system call
    kNotScheduled,  // it was runnable, and others had the CPU
    kUnknown,       // blocked or not scheduled: this kernel does not report which, or it was watched too briefly
};
std::string_view stall_cause_name(StallCause cause);
// All in microseconds. watched_us: the observed time; cpu_us: of it, on the CPU; queued_us: of it, runnable but waiting
// for a CPU (-1: not known).
StallCause judge_stall(int64_t watched_us, int64_t cpu_us, int64_t queued_us);

struct Stall {
    int64_t ms = 0;  // the whole stall
    int64_t watched_ms = 0;
    int64_t cpu_ms = 0;
    int64_t queued_ms = -1;
    StallCause cause = StallCause::kUnknown;
    std::string coroutine;  // that was running when the stall was noticed
    std::string context_id;
    std::vector<std::string> calls;  // the call stack, innermost first
    std::string thread{};            // the sender thread that stalled; empty: the loop
    // "the loop stalled for 173 ms: ...", "sender thread 0 stalled for 173 ms: ..."
    std::string describe() const;
};

// From now on an iteration that lasts warn_ms or longer is reported; 0 stops watching. Called on the loop.
base::Result<void> watch_stalls(int64_t warn_ms);

// The longest stall of the last minute, to the second. Pure.
class StallMinute {
  public:
    // now_ms: monotonic, at or after the stall's end.
    void add(int64_t stall_ms, int64_t now_ms);
    // 0: there was none.
    int64_t longest_ms(int64_t now_ms) const;

  private:
    static constexpr int64_t kSeconds = 60;
    struct Second {
        int64_t number = -kSeconds;  // of the clock
        int64_t longest_ms = 0;
    };
    std::array<Second, kSeconds> seconds_;
};

// Stalls while the loop's thread was runnable and others had the processor: no code is at fault, and on a busy machine
// there are many. One line a minute has their number. Pure.
class UnscheduledReport {
  public:
    static constexpr int64_t kIntervalMs = 60'000;
    // now_ms: monotonic. The line for the log, if one is due.
    std::optional<std::string> add(int64_t stall_ms, int64_t now_ms);

  private:
    // Since the last line.
    uint64_t count_ = 0;
    int64_t total_ms_ = 0;
    int64_t longest_ms_ = 0;
    std::optional<int64_t> reported_ms_{};
};

// How long the process stood still, us; 0: it did not. late_us: by how much a thread that sleeps woke up too late;
// queued_us: of it, runnable but waiting for a CPU (-1: not known); suspended_us: of a clock that goes on while the
// machine is suspended, beside the monotonic one. Pure.
int64_t judge_pause(int64_t late_us, int64_t queued_us, int64_t suspended_us);

struct LoopStats {
    uint64_t iterations = 0;
    uint64_t stalls = 0;  // those of warn_ms and more
    int64_t stalled_ms = 0;
    int64_t longest_stall_ms = 0;
    std::vector<Stall> last;             // the newest last; 16 at most
    std::vector<Stall> last_of_threads;  // the same of sender threads, which are not counted here
    StallMinute minute{};
    uint64_t pauses = 0;  // of the whole process
    int64_t paused_ms = 0;
};
const LoopStats& loop_stats();

}  // namespace runtime

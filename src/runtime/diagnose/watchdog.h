#pragma once
// The watchdog: a thread of its own sees when the loop does not turn, because a coroutine does not give way, asks the
// loop's thread by a signal where it is, and when the stall is over the log says how long it was, who held the loop up,
// in which functions, and whether the time went into our code, into a call that blocked, or to other processes. The
// loop pays a few stores a turn; the thread looks twice per stall_warn.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace runtime {

enum class StallCause : uint8_t {
    kBusy,          // the thread had the processor: our code is at fault
    kBlocked,       // it waited inside a system call
    kNotScheduled,  // it was ready, and others had the processor
    kUnknown,       // blocked or not scheduled: this kernel does not say
};
std::string_view stall_cause_name(StallCause cause);
// Of the time that was watched, milliseconds: so much on the processor, and so much ready but waiting for one (-1: not
// known).
StallCause judge_stall(int64_t watched_ms, int64_t cpu_ms, int64_t queued_ms);

struct Stall {
    int64_t ms = 0;  // the whole length
    int64_t watched_ms = 0;
    int64_t cpu_ms = 0;
    int64_t queued_ms = -1;
    StallCause cause = StallCause::kUnknown;
    std::string coroutine;  // who ran when it was noticed
    std::string context_id;
    std::vector<std::string> calls;  // where, innermost first
    // "the loop did not turn for 173 ms: ..."
    std::string describe() const;
};

// From now on a turn that lasts so long is told; 0: nobody watches. Called on the loop.
base::Result<void> watch_stalls(int64_t warn_ms);

struct LoopStats {
    uint64_t turns = 0;
    uint64_t stalls = 0;  // those of warn_ms and more
    int64_t stalled_ms = 0;
    int64_t longest_stall_ms = 0;
    std::vector<Stall> last;  // the newest last; 16 at most
};
const LoopStats& loop_stats();

}  // namespace runtime

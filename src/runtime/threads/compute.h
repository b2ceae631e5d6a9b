#pragma once
// Threads for CPU-heavy work that would stall the loop: one for each processor but the loop's, at least one, at most
// four. As in workers.h a job must not touch anything of the loop's: no Ref, no shared Slice, no log, no st_ call.

#include <cstddef>
#include <functional>

namespace runtime {

// Runs `work` on such a thread, then `done` on the loop, soon; `done` must not yield. Both are released on the loop.
// Jobs begin in the order of submission; dependencies between jobs are up to the caller. The queue is unbounded:
// callers must bound their pending jobs. False when no thread can be started: neither is run.
bool compute(std::move_only_function<void()> work, std::move_only_function<void()> done);

// Jobs whose `done` has not been called yet.
size_t computing();

}  // namespace runtime

#pragma once
// Threads for what takes so much of a processor that the loop would keep everybody waiting: one for each processor but
// the loop's, at least one, at most four. As in workers.h a job must not touch anything of the loop's: no Ref, no Slice
// that somebody else holds, no log, no st_ call.

#include <cstddef>
#include <functional>

namespace runtime {

// Runs `work` on such a thread, then `done` on the loop, soon; `done` must not yield. Both are released on the loop.
// Jobs begin in the order in which they came; one that waits for another is the caller's to hold back. The queue has no
// bound of its own: callers bound what they have under way. False when no thread can be had: neither is run.
bool compute(std::move_only_function<void()> work, std::move_only_function<void()> done);

// Jobs whose `done` has not been called yet.
size_t computing();

}  // namespace runtime

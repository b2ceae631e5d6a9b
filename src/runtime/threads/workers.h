#pragma once
// Two worker threads for calls that would block the loop (file system calls) and have no asynchronous form. A job must
// not touch anything of the loop's: no Ref, no Slice, no log, no st_ call; only what it owns.

#include <cstddef>
#include <functional>

#include "base/result.h"
#include "runtime/loop/deadline.h"

namespace runtime {

// Runs the job on a worker and yields until it is done. The job runs to its end even when the caller is cancelled, so
// it must own its data: capture by value or shared_ptr. What it owns is released on the loop, even if the worker held
// the last reference. Bounded queue (1024 jobs): kLimit when it is full.
base::Result<void> offload(std::move_only_function<void()> job, Deadline deadline);

// Jobs of offload() that wait or run.
size_t offloaded();

// Runs the job on a worker, and nobody waits for it: for releasing what may take long, as closing a removed file does.
// Not bounded, for what is released was. At once where no worker runs.
void release_on_worker(std::move_only_function<void()> job);

}  // namespace runtime

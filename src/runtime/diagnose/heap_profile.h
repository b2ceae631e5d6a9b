#pragma once
// What is allocated and not freed, by call stack, in builds that link tcmalloc (./configure --gperf=on). Its functions
// are looked up at run time, so the build does not need tcmalloc.

#include <string>

#include "base/result.h"

namespace runtime {

// Whether tcmalloc's heap profiler is linked.
bool can_profile_heap();

// With the profiler running since the start (./configure --gmp=on): what was allocated since then. Otherwise: what is
// allocated during duration_ms and not freed at its end; the caller sleeps meanwhile. Text in pprof's format. kBusy:
// another profile is being recorded; kNotFound: no tcmalloc.
base::Result<std::string> record_heap_profile(int64_t duration_ms);

}  // namespace runtime

#pragma once
// What is allocated and not freed, by call stack: in builds that link tcmalloc (./configure --gperf=on), looked up when
// asked for, so that nothing of it is needed to build.

#include <string>

#include "base/result.h"

namespace runtime {

// Whether tcmalloc's heap profiler is linked.
bool can_profile_heap();

// What was allocated since the start (./configure --gmp=on); or else, the profiler not running, what is allocated
// during the time and still there at its end: the caller sleeps meanwhile. Text, as pprof reads it. kBusy: somebody
// records one already; kNotFound: no tcmalloc.
base::Result<std::string> record_heap_profile(int64_t duration_ms);

}  // namespace runtime

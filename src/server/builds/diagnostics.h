#pragma once
// What the diagnostic builds (./configure -h, doc/building.md) put into the server. Each part has two sources of which
// the Makefile takes one: x_on.cpp, with its library, in builds that have it; x_off.cpp, which does nothing, in the
// others.

#include "base/result.h"

namespace server {

// --gcp: a sampling CPU profile of the process, from here to stop, in gperf.srs.gcp of the working directory.
base::Result<void> start_cpu_profile();
void stop_cpu_profile();

// --gmp: what is allocated and not freed, by call stack: gperf.srs.gmp.NNNN.heap of the working directory, each time
// that much was allocated (HEAP_PROFILE_ALLOCATION_INTERVAL and the like, of gperftools), and at stop.
base::Result<void> start_heap_profile();
void stop_heap_profile();

// --gperf: how eagerly tcmalloc gives memory back. False: this build has another allocator.
bool set_release_rate(double rate);

// --gmc: what is allocated while one exists is not looked for. state-threads' idle thread is known only from its own
// stack, into which the heap checker does not look, and never ends. What other coroutines' stacks hold is released
// before the process ends.
class LeakCheckPause {
  public:
    LeakCheckPause();
    LeakCheckPause(const LeakCheckPause&) = delete;
    ~LeakCheckPause();
};

// --sanitizer-log: from here on each line that a sanitizer prints is written to the log too.
void start_sanitizer_log();
// Looks for leaks now, while there is a log; when there are any the process ends here.
void stop_sanitizer_log();

// In every diagnostic build and the debug build, never in the normal one: runs the defect that the environment's
// PLANT_DEFECT names in a coroutine, so that the tests see each tool find one. An unknown name is an error that lists
// them.
base::Result<void> plant_defect();

// All of them, in order. Called on the loop, after daemonising and before the modules start; and after they have
// stopped.
inline base::Result<void> start_diagnostics() {
    TRY(start_cpu_profile());
    TRY(start_heap_profile());
    start_sanitizer_log();
    TRY(plant_defect());
    return {};
}
inline void stop_diagnostics() {
    stop_cpu_profile();
    stop_heap_profile();
    stop_sanitizer_log();
}

}  // namespace server

#pragma once
// What the diagnostic builds (./configure -h, doc/building.md) add to the server. Each part has two sources, one of
// which the Makefile compiles: x_on.cpp, with its library, in builds that have the part; x_off.cpp, which does nothing,
// in the others.

#include "base/result.h"

namespace server {

// --gcp: a sampling CPU profile of the process, from start to stop, in gperf.srs.gcp in the working directory.
base::Result<void> start_cpu_profile();
void stop_cpu_profile();

// --gmp: memory allocated and not freed, by call stack, in gperf.srs.gmp.NNNN.heap in the working directory: written
// each time a given amount was allocated (HEAP_PROFILE_ALLOCATION_INTERVAL and similar variables of gperftools), and at
// stop.
base::Result<void> start_heap_profile();
void stop_heap_profile();

// --gperf: how eagerly tcmalloc returns memory to the system. False: this build has another allocator.
bool set_release_rate(double rate);

// --gmc: the leak checker ignores memory allocated while an object of this class exists. state-threads' idle thread is
// referenced only from its own stack, which the heap checker does not scan, and it never ends. Memory referenced from
// other coroutines' stacks is released before the process ends.
class LeakCheckPause {
  public:
    LeakCheckPause();
    LeakCheckPause(const LeakCheckPause&) = delete;
    ~LeakCheckPause();
};

// --sanitizer-log: from now on each line that a sanitizer prints is also written to the log.
void start_sanitizer_log();
// Checks for leaks now, while there is a log; if there are any, the process ends here.
void stop_sanitizer_log();

// In every diagnostic build and the debug build, never in the normal one: runs, in a coroutine, the defect named by the
// environment variable PLANT_DEFECT, so that the tests see each tool find a defect. An unknown name is an error that
// lists the names.
base::Result<void> plant_defect();

// Starts and stops all of them, in order. Called on the loop: start after daemonising and before the modules start,
// stop after the modules have stopped.
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

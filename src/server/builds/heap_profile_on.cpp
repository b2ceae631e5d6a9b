#include <gperftools/heap-profiler.h>

#include "base/log.h"
#include "server/builds/diagnostics.h"

namespace server {
namespace {
constexpr const char* kPrefix = "gperf.srs.gmp";
}

base::Result<void> start_heap_profile() {
    HeapProfilerStart(kPrefix);
    if (!IsHeapProfilerRunning()) return base::fail(base::Code::kSystem, "the heap profiler does not start");
    base::log::trace("heap profile: recording to {}.NNNN.heap", kPrefix);
    return {};
}

void stop_heap_profile() {
    HeapProfilerDump("the end of the run");
    HeapProfilerStop();
    base::log::trace("heap profile: written to {}.NNNN.heap", kPrefix);
}

}  // namespace server

#include <gperftools/profiler.h>

#include "base/log.h"
#include "server/builds/diagnostics.h"

namespace server {
namespace {
constexpr const char* kFile = "gperf.srs.gcp";
}

base::Result<void> start_cpu_profile() {
    if (!ProfilerStart(kFile)) return base::fail_errno("starting the CPU profile gperf.srs.gcp", errno);
    base::log::trace("CPU profile: recording to {}", kFile);
    return {};
}

void stop_cpu_profile() {
    ProfilerState state;
    ProfilerGetCurrentState(&state);
    ProfilerStop();
    base::log::trace("CPU profile: {} samples in {}", state.samples_gathered, kFile);
}

}  // namespace server

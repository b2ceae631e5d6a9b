#pragma once
// Internal. Parts of runtime/ that start when they are first used, and that shutdown() ends.

#include <cstdint>

namespace runtime::detail {

// In the order in which they are stopped.
enum class Service : uint8_t { kWatchdog, kDisk, kDns, kWorkers, kCompute, kProcesses, kCount };

// The service has started: stop() ends it, once, from the main coroutine.
void stop_at_shutdown(Service service, void (*stop)());

// Ends all that have started. They may be started again.
void stop_services();

}  // namespace runtime::detail

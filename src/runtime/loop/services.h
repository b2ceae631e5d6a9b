#pragma once
// Internal. What parts of runtime/ start when first used and shutdown() ends.

namespace runtime::detail {

void stop_services();
void stop_disk();
void stop_dns();
void stop_workers();
void stop_compute();
void stop_processes();
void stop_watchdog();

}  // namespace runtime::detail

#include "runtime/services.h"

namespace runtime::detail {

void stop_services() {
    stop_watchdog();
    stop_disk();
    stop_dns();
    stop_workers();
    stop_compute();
    stop_processes();
}

}  // namespace runtime::detail

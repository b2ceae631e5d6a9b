#include "server/builds/diagnostics.h"

namespace server {

base::Result<void> start_cpu_profile() { return {}; }
void stop_cpu_profile() {}

}  // namespace server

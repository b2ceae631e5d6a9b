#include "server/builds/diagnostics.h"

namespace server {

base::Result<void> start_heap_profile() { return {}; }
void stop_heap_profile() {}

}  // namespace server

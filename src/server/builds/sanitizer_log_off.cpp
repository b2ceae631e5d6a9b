#include "server/builds/diagnostics.h"

namespace server {

void start_sanitizer_log() {}
void stop_sanitizer_log() {}

}  // namespace server

#include "server/builds/diagnostics.h"

namespace server {

bool set_release_rate(double) { return false; }

}  // namespace server

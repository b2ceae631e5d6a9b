#include <gperftools/malloc_extension.h>

#include "server/builds/diagnostics.h"

namespace server {

bool set_release_rate(double rate) {
    MallocExtension::instance()->SetMemoryReleaseRate(rate);
    return true;
}

}  // namespace server

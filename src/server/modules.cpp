#include "server/modules.h"

namespace server {

void add_modules(Lifecycle& lifecycle, const config::SnapshotPtr& snapshot) {
    // One line for each service, in the order in which they start:
    //   lifecycle.add(module_of("rtmp", std::make_shared<service::rtmp::Service>(snapshot, sessions, registry)));
    (void)lifecycle;
    (void)snapshot;
}

}  // namespace server

#pragma once
// Makes the server's own modules, the parts that services share, and the services of services.h.

#include <memory>

#include "config/snapshot.h"
#include "net/operations.h"
#include "server/lifecycle.h"
#include "server/upgrade/process_link.h"

namespace server {

// link: outlives the modules' work; they use it from here on.
void add_modules(Lifecycle& lifecycle, const config::SnapshotPtr& snapshot, std::shared_ptr<net::Operations> operations,
                 ProcessLink& link);

}  // namespace server

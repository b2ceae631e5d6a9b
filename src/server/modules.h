#pragma once
// Makes the server's own modules, the parts that services share, and the services of services.h.

#include <memory>

#include "config/snapshot.h"
#include "net/operations.h"
#include "server/lifecycle.h"

namespace server {

void add_modules(Lifecycle& lifecycle, const config::SnapshotPtr& snapshot,
                 std::shared_ptr<net::Operations> operations);

}  // namespace server

#pragma once
// The list of the server's modules. A new service is one line in modules.cpp.

#include <memory>

#include "config/snapshot.h"
#include "net/operations.h"
#include "server/lifecycle.h"

namespace server {

void add_modules(Lifecycle& lifecycle, const config::SnapshotPtr& snapshot,
                 std::shared_ptr<net::Operations> operations);

}  // namespace server

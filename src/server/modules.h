#pragma once
// The list of what this server is made of. A new service is one line in modules.cpp.

#include "config/snapshot.h"
#include "server/lifecycle.h"

namespace server {

void add_modules(Lifecycle& lifecycle, const config::SnapshotPtr& snapshot);

}  // namespace server

#pragma once
// Context: what the endpoints of the API are made with: the parts of the server, and the configuration in force.

#include "config/snapshot.h"
#include "service/shared_parts.h"

namespace service::api {

struct Context : SharedParts {
    config::SnapshotPtr snapshot;
};

}  // namespace service::api

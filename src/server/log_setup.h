#pragma once
// The log options from the configuration.

#include "base/log.h"
#include "config/snapshot.h"

namespace server {

base::log::Options log_options(const config::Snapshot& snapshot);
// Whether both write to the same destination.
bool same_log_file(const config::Snapshot& a, const config::Snapshot& b);
// Opens it. The error names the directive.
base::Result<void> open_log(const config::Snapshot& snapshot);

}  // namespace server

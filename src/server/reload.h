#pragma once
// What SIGHUP does: reads the configuration again, checks it, and says in the log what changes and what needs a
// restart.

#include "config/snapshot.h"
#include "server/config_source.h"

namespace server {

// The snapshot to put in force; null when nothing changed or the new configuration has errors, which are logged.
config::SnapshotPtr reload_config(const ConfigSource& source, const config::Snapshot& current);

}  // namespace server

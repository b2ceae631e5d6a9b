#pragma once
// Files and programs of a configuration, as the services describe them: what cannot be read, written or run is a
// problem at the line of its directive. -t, the start and a reload call the same check. It is an error if the start
// would fail, otherwise a warning.

#include "config/snapshot.h"

namespace server {

// At the start or for -t: in work_dir, as the user of `user`, while RootScope works. On a reload the log file and the
// pid file are left out, and keys that the process may not read any more.
enum class CheckedAt : uint8_t { kStart, kReload };

// Blocks on file reads; changes nothing on disk.
void check_resources(const config::Snapshot& snapshot, CheckedAt when, config::Problems& problems);

}  // namespace server

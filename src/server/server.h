#pragma once
// The process from start to end: configuration, pid file, daemonising, log, modules, signals. main() calls run().

namespace server {

// Returns the exit status.
int run(int argc, const char* const* argv);

}  // namespace server

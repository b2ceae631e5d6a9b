#pragma once
// The process from start to end: configuration, pid file, daemonising, log, modules, signals. main() calls run().

#include "server/about.h"

namespace server {

// Returns the exit status.
int run(int argc, const char* const* argv, const BuildFacts& facts);

}  // namespace server

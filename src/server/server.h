#pragma once
// The process's life: configuration, pid file, background, log, modules, signals, the end. main() calls run().

namespace server {

// The exit status.
int run(int argc, const char* const* argv);

}  // namespace server

#pragma once
// How many files and sockets the process may have open.

#include <cstdint>
#include <string>

namespace server {

// Raises the soft limit (RLIMIT_NOFILE) to the hard one. Returns what is in force now.
uint64_t raise_open_file_limit();

// A warning for the operator when so many connections do not fit under the limit; empty when they do.
std::string open_file_warning(uint64_t limit, int max_connections);

}  // namespace server

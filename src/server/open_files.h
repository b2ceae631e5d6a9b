#pragma once
// How many files and sockets the process may have open.

#include <cstdint>
#include <string>

namespace server {

// Raises the soft limit (RLIMIT_NOFILE) to the hard one. Returns what is in force now.
uint64_t raise_open_file_limit();

// Has the kernel make its table of the process's descriptors as large as these connections need it. Otherwise it grows
// when the 64th, 256th, 512th ... is opened, and that holds up the loop for 10 ms each time once there are threads: so
// call it before there are any. limit: as above.
void make_room_for_open_files(uint64_t limit, int max_connections);

// A warning for the operator when so many connections do not fit under the limit; empty when they do.
std::string open_file_warning(uint64_t limit, int max_connections);

}  // namespace server

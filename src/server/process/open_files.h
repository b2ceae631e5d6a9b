#pragma once
// The limit on files and sockets of the process, and how many connections of clients fit under it beside what the
// server opens itself (runtime/threads/descriptors.h).

#include <cstdint>
#include <string>

#include "base/result.h"

namespace server {

// Raises the soft limit (RLIMIT_NOFILE) to the hard one. Returns the limit in force now.
uint64_t raise_open_file_limit();
uint64_t open_file_limit();

// Makes the kernel allocate its table of the process's descriptors large enough for these connections. Otherwise the
// table grows when descriptor 64, 256, 512 ... is opened, and each growth blocks the loop for 10 ms once there are
// threads: call it before there are any. limit: as above.
void make_room_for_open_files(uint64_t limit, int max_connections);

// The limit that so many connections need.
uint64_t open_files_for(int max_connections);
// How many connections are allowed: max_connections, or fewer where they do not fit. kConfig: the limit is too low for
// a server.
base::Result<int> connections_within(uint64_t limit, int max_connections);
// A warning for the operator if that many connections do not fit under the limit; otherwise empty.
std::string open_file_warning(uint64_t limit, int max_connections);

}  // namespace server

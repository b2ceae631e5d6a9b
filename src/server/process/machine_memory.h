#pragma once
// How much memory is available to this process.

#include <cstddef>
#include <string_view>

namespace server {

// Bytes: the machine's memory, or the least limit of the control groups that the process is in: of a container, of
// systemd's MemoryMax= and MemoryHigh=. 0: not known.
size_t machine_memory();
// The smaller of the machine's memory and what a file memory.max, memory.high or memory.limit_in_bytes says.
size_t limited_memory(size_t machine, std::string_view cgroup);

}  // namespace server

#pragma once
// How much memory is available to this process.

#include <cstddef>
#include <string_view>

namespace server {

// Bytes: the machine's memory, or the container's limit if it has one. 0: not known.
size_t machine_memory();
// The smaller of the machine's memory and a cgroup's memory.max or memory.limit_in_bytes file.
size_t limited_memory(size_t machine, std::string_view cgroup);

}  // namespace server

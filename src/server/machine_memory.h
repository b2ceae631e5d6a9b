#pragma once
// How much memory this process may hope for.

#include <cstddef>
#include <string_view>

namespace server {

// Bytes: of the machine, or of the container where that has a limit. 0: not known.
size_t machine_memory();
// Of a cgroup's file memory.max or memory.limit_in_bytes, and of the machine: the smaller one.
size_t limited_memory(size_t machine, std::string_view cgroup);

}  // namespace server

#include "server/process/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "runtime/threads/cgroups.h"

namespace server {

// "max" is not a number: no limit.
size_t limited_memory(size_t machine, std::string_view cgroup) {
    size_t limit = 0;
    const auto read = std::from_chars(cgroup.data(), cgroup.data() + cgroup.size(), limit);
    return read.ec == std::errc() && limit > 0 ? std::min(machine, limit) : machine;
}

size_t machine_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t bytes = pages > 0 && page > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page) : 0;
    for (const char* name : {"memory.max", "memory.high"})
        for (const std::string& text : runtime::read_cgroup_files("memory", "", name))
            bytes = limited_memory(bytes, text);
    for (const std::string& text : runtime::read_cgroup_files("memory", "memory.limit_in_bytes", ""))
        bytes = limited_memory(bytes, text);
    return bytes;
}

}  // namespace server

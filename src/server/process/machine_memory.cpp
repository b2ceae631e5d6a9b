#include "server/process/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

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
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        FILE* file = std::fopen(path, "re");
        if (!file) continue;
        char text[32];
        const size_t size = std::fread(text, 1, sizeof(text), file);
        std::fclose(file);
        bytes = limited_memory(bytes, {text, size});
    }
    return bytes;
}

}  // namespace server

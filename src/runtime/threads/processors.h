#pragma once
// How many processors this process may use: those of its affinity mask, and of the quota of its cgroup.

#include <cstddef>
#include <optional>
#include <string_view>

namespace runtime {

// cgroup v2's cpu.max, "200000 100000": the whole processors of the quota, at least 1. Nothing: "max", or unreadable.
std::optional<size_t> parse_cpu_max(std::string_view text);
// At least 1. Reads small files of /proc and /sys: at the start, or on a worker.
size_t usable_processors();

}  // namespace runtime

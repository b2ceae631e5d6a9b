#include "runtime/threads/processors.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "runtime/threads/cgroups.h"

namespace runtime {

namespace {

std::optional<int64_t> read_number(std::string_view& text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    int64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
    return number;
}

size_t allowed_processors() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
    return static_cast<size_t>(std::max<long>(1, count > 0 ? count : online));
}

size_t quota_of_cgroups() {
    size_t least = SIZE_MAX;
    for (const std::string& text : read_cgroup_files("cpu", "", "cpu.max"))
        if (const auto quota = parse_cpu_max(text)) least = std::min(least, *quota);
    return least;
}

}  // namespace

std::optional<size_t> parse_cpu_max(std::string_view text) {
    const auto quota = read_number(text);
    const auto period = quota ? read_number(text) : std::nullopt;
    if (!period || *quota <= 0 || *period <= 0) return std::nullopt;
    return std::max<size_t>(1, static_cast<size_t>(*quota / *period));
}

size_t usable_processors() { return std::min(allowed_processors(), quota_of_cgroups()); }

}  // namespace runtime

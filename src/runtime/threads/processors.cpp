#include "runtime/threads/processors.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

namespace runtime {

namespace {

std::string read_text(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

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

// The cgroup of version 2, and those above it: in a container the first path may not be visible.
size_t quota_of_cgroups() {
    size_t least = SIZE_MAX;
    std::string path = read_text("/proc/self/cgroup");
    const size_t at = path.find("0::");
    path = at == std::string::npos ? "/" : path.substr(at + 3, path.find('\n', at) - at - 3);
    while (true) {
        if (path == "/") path.clear();
        if (const auto quota = parse_cpu_max(read_text("/sys/fs/cgroup" + path + "/cpu.max")))
            least = std::min(least, *quota);
        if (path.empty()) return least;
        path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
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

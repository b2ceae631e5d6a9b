#include "server/open_files.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace server {

namespace {
constexpr uint64_t kOwnFiles = 100;  // the log, listeners, timers, files being read
}

uint64_t raise_open_file_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    if (limit.rlim_cur < limit.rlim_max) {
        rlimit raised{limit.rlim_max, limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    return limit.rlim_cur;
}

std::string open_file_warning(uint64_t limit, int max_connections) {
    uint64_t needed = static_cast<uint64_t>(max_connections) + kOwnFiles;
    if (limit >= needed) return "";
    return fmt::format(
        "max_connections {} needs {} open files, and the limit is {}: raise it (ulimit -n {}) or lower max_connections",
        max_connections, needed, limit, needed);
}

}  // namespace server

#include "server/process/open_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

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

void make_room_for_open_files(uint64_t limit, int max_connections) {
    uint64_t wanted = std::min(limit, static_cast<uint64_t>(max_connections) + kOwnFiles);
    if (wanted == 0) return;
    int highest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, static_cast<int>(wanted - 1));
    if (highest >= 0) close(highest);
}

std::string open_file_warning(uint64_t limit, int max_connections) {
    uint64_t needed = static_cast<uint64_t>(max_connections) + kOwnFiles;
    if (limit >= needed) return "";
    return fmt::format(
        "max_connections {} needs {} open files, and the limit is {}: raise it (ulimit -n {}) or lower max_connections",
        max_connections, needed, limit, needed);
}

}  // namespace server

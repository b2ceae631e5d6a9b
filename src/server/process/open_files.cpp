#include "server/process/open_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/threads/descriptors.h"

namespace server {
namespace {

// The log, listeners, timers; what is open without a client.
constexpr uint64_t kFewOwnFiles = 32, kOwnFiles = 100;
constexpr int kLeastConnections = 16;

int64_t fitting(uint64_t limit) {
    const uint64_t own = std::clamp(limit / 8, kFewOwnFiles, kOwnFiles);
    return runtime::DescriptorBudget::of_limit(limit).connections - static_cast<int64_t>(own);
}

}  // namespace

uint64_t open_file_limit() {
    rlimit limit{};
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
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

uint64_t open_files_for(int max_connections) {
    auto limit = static_cast<uint64_t>(max_connections) + kFewOwnFiles;
    while (fitting(limit) < max_connections)
        limit += std::max<uint64_t>(1, static_cast<uint64_t>(max_connections - fitting(limit)) / 2);
    return limit;
}

base::Result<int> connections_within(uint64_t limit, int max_connections) {
    const int64_t fit = fitting(limit);
    if (fit >= std::min(max_connections, kLeastConnections))
        return static_cast<int>(std::min<int64_t>(fit, max_connections));
    return base::fail(
        base::Code::kConfig,
        fmt::format("the limit of open files is {}, and the server needs {} at least: raise it (ulimit -n)", limit,
                    open_files_for(std::min(max_connections, kLeastConnections))));
}

std::string open_file_warning(uint64_t limit, int max_connections) {
    const auto fit = connections_within(limit, max_connections);
    if (!fit || *fit == max_connections) return "";
    return fmt::format(
        "max_connections {} needs a limit of {} open files, and it is {}: {} connections are allowed; raise the limit "
        "(ulimit -n {}) or lower max_connections",
        max_connections, open_files_for(max_connections), limit, *fit, open_files_for(max_connections));
}

}  // namespace server

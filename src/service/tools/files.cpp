#include "service/tools/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "runtime/diagnose/machine.h"

namespace service::tools {

namespace fs = std::filesystem;

void take_sample(Sample& sample, int64_t max_log_bytes) {
    const int64_t tick_us = 1'000'000 / std::max(sysconf(_SC_CLK_TCK), 1L);
    for (auto& [pid, us] : sample.cpu_us) {
        const auto stat =
            runtime::parse_process_stat(runtime::read_small_file(fmt::format("/proc/{}/stat", pid).c_str()));
        // Of the process, and of children that it waited for.
        us = 0;
        for (const auto name : {"utime", "stime", "cutime", "cstime"}) us += stat.at(name) * tick_us;
    }
    for (const std::string& path : sample.logs) {
        std::error_code error;
        const auto size = fs::file_size(path, error);
        if (error || size <= static_cast<uintmax_t>(max_log_bytes)) continue;
        fs::copy_file(path, path + ".1", fs::copy_options::overwrite_existing, error);
        fs::resize_file(path, 0, error);
    }
}

}  // namespace service::tools

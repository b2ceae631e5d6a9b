#include "service/tools/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace service::tools {

namespace fs = std::filesystem;

// Field 2 is the program's name in parentheses, which may have spaces and parentheses itself; 14 to 17 are the times.
int64_t parse_cpu_ticks(std::string_view stat) {
    constexpr int kFirst = 14, kLast = 17;
    const size_t end = stat.rfind(')');
    if (end == stat.npos) return 0;
    std::istringstream rest{std::string(stat.substr(end + 1))};
    int64_t ticks = 0;
    std::string word;
    for (int field = 3; rest >> word; ++field)
        if (field >= kFirst && field <= kLast) ticks += std::strtoll(word.c_str(), nullptr, 10);
    return ticks;
}

void take_sample(Sample& sample, int64_t max_log_bytes) {
    const int64_t tick_us = 1'000'000 / std::max(sysconf(_SC_CLK_TCK), 1L);
    for (auto& [pid, us] : sample.cpu_us) {
        std::ifstream file(fmt::format("/proc/{}/stat", pid));
        std::string stat;
        if (std::getline(file, stat)) us = parse_cpu_ticks(stat) * tick_us;
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

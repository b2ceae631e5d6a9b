#pragma once
// What is read and written of running tools, by a worker thread: their processor time in /proc, and the size of their
// logs.

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace service::tools {

struct Sample {
    std::vector<std::pair<pid_t, int64_t>> cpu_us{};  // per process; 0: it has ended
    std::set<std::string> logs{};                     // paths
};
// A log that is longer is copied to PATH.1, and begins anew: its process has it open for appending. Blocks.
void take_sample(Sample& sample, int64_t max_log_bytes);

}  // namespace service::tools

#include "load/probe.h"

#include <dirent.h>

#include <charconv>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

namespace load {

base::Result<void> Probe::check() const {
    if (active() && cpu_us() < 0) return base::fail(base::Code::kNotFound, fmt::format("there is no process {}", pid_));
    return {};
}

// The process's CPU clock counts nanoseconds; /proc/PID/stat shows the same in ticks of 10 ms.
int64_t Probe::cpu_us() const {
    if (!active()) return 0;
    clockid_t clock;
    timespec time;
    if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
    return time.tv_sec * 1'000'000LL + time.tv_nsec / 1000;
}

int64_t Probe::main_thread_cpu_us() const {
    if (!active()) return 0;
    int64_t ns = -1000;
    std::ifstream(fmt::format("/proc/{0}/task/{0}/schedstat", pid_)) >> ns;
    return ns / 1000;
}

int64_t Probe::pss_kb() const { return rollup_kb("Pss"); }
int64_t Probe::anonymous_kb() const { return rollup_kb("Pss_Anon"); }

int64_t Probe::rollup_kb(std::string_view field) const {
    if (!active()) return 0;
    std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid_));
    return parse_rollup_kb(std::string(std::istreambuf_iterator<char>(file), {}), field);
}

int64_t Probe::descriptors() const {
    if (!active()) return 0;
    DIR* dir = opendir(fmt::format("/proc/{}/fd", pid_).c_str());
    if (!dir) return -1;
    int64_t count = -2;  // "." and ".."
    while (readdir(dir)) ++count;
    closedir(dir);
    return count;
}

int64_t parse_rollup_kb(std::string_view text, std::string_view field) {
    const std::string name = fmt::format("\n{}:", field);
    size_t at = text.find(name);
    if (at == text.npos) return -1;
    text.remove_prefix(at + name.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    int64_t value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace load

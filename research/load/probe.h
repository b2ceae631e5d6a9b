#pragma once
// Probe: what a process on this machine uses: CPU time of all its threads, proportional set size (memory shared with
// others counts in part; the kernel's socket buffers do not), the part of it that is not of files, open descriptors.
// Reads the kernel's books, as often as it is asked, and never touches the process.

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace load {

class Probe {
  public:
    // pid 0: nothing is measured, everything answers 0.
    explicit Probe(pid_t pid) : pid_(pid) {}
    bool active() const { return pid_ != 0; }
    base::Result<void> check() const;    // whether the process is there
    int64_t cpu_us() const;              // user and system since its start; -1 when it is gone
    int64_t main_thread_cpu_us() const;  // the same of its first thread alone
    int64_t pss_kb() const;              // -1 when it is gone or may not be read
    // Of it what is not of files. A program's and its libraries' pages count less when another process, such as the
    // load tool, maps the same files.
    int64_t anonymous_kb() const;
    int64_t descriptors() const;

  private:
    int64_t rollup_kb(std::string_view field) const;
    pid_t pid_;
};

// field "Pss", and "Pss:   310 kB" among the lines: 310, or -1.
int64_t parse_rollup_kb(std::string_view smaps_rollup, std::string_view field);

}  // namespace load

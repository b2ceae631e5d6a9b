#pragma once
// A sampling profile of the loop's thread, which is where all of this server's own code runs: a timer of its processor
// time interrupts it, and the stack is walked by frame pointers and kept. Costs nothing while none is recorded, and a
// few microseconds a sample while one is.
//
// Not in it: worker threads (calls that would block) and the log's thread.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace runtime {

struct CpuProfile {
    int64_t period_us = 0;
    uint64_t samples = 0;
    uint64_t lost = 0;  // for which there was no room
    // Each: how many periods it stands for, how many addresses, the addresses from the inside out.
    std::vector<uintptr_t> records;

    // As google-pprof and `go tool pprof` read it: the binary form of gperftools, with the mappings of this process.
    std::string to_pprof() const;
};

struct CpuProfileOptions {
    int64_t duration_ms = 10'000;
    int hertz = 99;  // kernels that keep processor time by ticks sample no faster than those
    // Asked about five times a second; true: the profile is wanted no more (kCancelled).
    std::function<bool()> give_up{};
};

// Records while the caller sleeps. kBusy when one is being recorded already.
base::Result<CpuProfile> record_cpu_profile(const CpuProfileOptions& options);

}  // namespace runtime

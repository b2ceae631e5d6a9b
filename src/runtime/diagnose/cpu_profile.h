#pragma once
// A sampling profile of the loop's thread, which runs nearly all of this server's own code, and of the sender threads:
// a timer on each thread's CPU time interrupts it, and the stack is walked by frame pointers and stored. Costs nothing
// while no profile is recorded, and a few microseconds a sample while one is.
//
// Does not cover the worker threads (blocking calls) and the log's thread.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/diagnose/symbols.h"

namespace runtime {

struct CpuProfile {
    int64_t period_us = 0;
    uint64_t samples = 0;
    uint64_t lost = 0;  // dropped for lack of room
    // Of the loop. Each record: the number of periods it stands for, the number of addresses, the addresses from the
    // innermost outwards.
    std::vector<uintptr_t> records;
    struct OfThread {
        std::string name;
        std::vector<uintptr_t> records;  // the same
    };
    std::vector<OfThread> threads;  // the sender threads

    // In the format that google-pprof and `go tool pprof` read: the binary form of gperftools, with the mappings of
    // this process. It has no names of threads: their outermost function tells them apart.
    std::string to_pprof() const;
    // A line for each stack: the names of its functions from the outermost inwards with ';' between them, a space, and
    // the number of its samples, as flame graphs are drawn from. Where there are sender threads, the name of the thread
    // comes first. Takes long: not on the loop.
    std::string to_folded(const Symbols& symbols) const;
};

struct CpuProfileOptions {
    int64_t duration_ms = 10'000;
    int hertz = 99;  // kernels that account CPU time in ticks sample no faster than those
    // Called about five times a second; true cancels the profile (kCancelled).
    std::function<bool()> give_up{};
};

// Records while the caller sleeps. kBusy: another profile is being recorded.
base::Result<CpuProfile> record_cpu_profile(const CpuProfileOptions& options);

}  // namespace runtime

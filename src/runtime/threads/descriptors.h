#pragma once
// The budget of descriptors (RLIMIT_NOFILE): what clients have taken must not stop the server's own work. The kernel
// gives the lowest free number, so that a number says how many are in use at least.

#include <cstdint>

namespace runtime {

struct DescriptorBudget {
    // From these numbers on: connections of clients are refused, but for those that operators are kept room for ...
    int connections = INT32_MAX;
    // ... and files that clients ask for are not opened. The rest is for recordings, segments, hooks, and the log.
    int files = INT32_MAX;

    // For so many descriptors: an eighth, 64 to 1,024, is not for connections.
    static DescriptorBudget of_limit(uint64_t limit);
};

// Of the process: without a limit until it is set.
const DescriptorBudget& descriptor_budget();
void set_descriptor_budget(const DescriptorBudget& budget);

}  // namespace runtime

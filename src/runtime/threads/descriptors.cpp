#include "runtime/threads/descriptors.h"

#include <algorithm>

namespace runtime {
namespace {

constexpr uint64_t kLeastReserve = 64, kMostReserve = 1'024;
DescriptorBudget budget;

}  // namespace

DescriptorBudget DescriptorBudget::of_limit(uint64_t limit) {
    const uint64_t reserve = std::min(std::clamp(limit / 8, kLeastReserve, kMostReserve), limit);
    const auto number = [](uint64_t value) { return static_cast<int>(std::min<uint64_t>(value, INT32_MAX)); };
    return {number(limit - reserve), number(limit - reserve / 2)};
}

const DescriptorBudget& descriptor_budget() { return budget; }

void set_descriptor_budget(const DescriptorBudget& wanted) { budget = wanted; }

}  // namespace runtime

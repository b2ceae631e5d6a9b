#pragma once
// Random numbers that need not be secret: ids, and times that are to differ.

#include <cstdint>

namespace runtime {

uint64_t random_u64();

}  // namespace runtime

#pragma once
// For tests of byte streams: text to bytes, bytes to text, and a deadline.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/loop/coroutine.h"

namespace runtime::testing {

inline std::span<const uint8_t> bytes(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

inline std::string text(std::span<const uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// For operations that complete at once when the code under test works.
inline Deadline soon() { return Deadline::in_ms(10'000); }

}  // namespace runtime::testing

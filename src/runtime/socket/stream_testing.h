#pragma once
// For tests of byte streams and of what is waited for: bytes of text, text of bytes, and a deadline.

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

// Of what comes at once where all is well.
inline Deadline soon() { return Deadline::in_ms(10'000); }

}  // namespace runtime::testing

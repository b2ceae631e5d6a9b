#pragma once
// Letters and control characters of ASCII, whatever the locale is.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace base {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool is_control(char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; }

inline std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](char c) { return lower(c); });
    return out;
}

}  // namespace base

#pragma once
// Letters of ASCII, whatever the locale is.

#include <algorithm>
#include <string>
#include <string_view>

namespace base {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](char c) { return lower(c); });
    return out;
}

}  // namespace base

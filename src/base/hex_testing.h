#pragma once
// For tests: bytes from hexadecimal text, which may contain spaces and line ends.

#include <cstdint>
#include <string_view>
#include <vector>

namespace base {

inline std::vector<uint8_t> hex(std::string_view text) {
    std::vector<uint8_t> out;
    int high = -1;
    for (char c : text) {
        if (c == ' ' || c == '\n') continue;
        int digit = c <= '9' ? c - '0' : c - 'a' + 10;
        if (high < 0) {
            high = digit;
        } else {
            out.push_back(static_cast<uint8_t>(high << 4 | digit));
            high = -1;
        }
    }
    return out;
}

}  // namespace base

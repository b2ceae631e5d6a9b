#include "base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace base {

namespace {

// Bytes of the UTF-8 sequence at the front; 0: it is none.
size_t sequence_length(std::string_view text) {
    const auto lead = static_cast<uint8_t>(text[0]);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xc2 && lead < 0xe0 ? 2
                          : lead >= 0xe0 && lead < 0xf0 ? 3
                          : lead >= 0xf0 && lead < 0xf5 ? 4
                                                        : 0;
    if (length > text.size()) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return 0;
    return length;
}

}  // namespace

std::string utf8(std::string_view text, size_t limit) {
    std::string out;
    while (!text.empty() && out.size() < limit) {
        const size_t length = sequence_length(text);
        out += length > 0 ? text.substr(0, length) : "?";
        text.remove_prefix(std::max<size_t>(1, length));
    }
    return out;
}

}  // namespace base

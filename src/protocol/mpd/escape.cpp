#include <algorithm>

#include "protocol/mpd/mpd.h"

namespace mpd {

namespace {

// Bytes of the UTF-8 sequence at the front that is a character of XML 1.0 (2.2); 0: it is none.
size_t character_length(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
    const uint8_t lead = byte(0);
    if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
    const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                          : lead >= 0xe0 && lead < 0xf0 ? 3
                          : lead >= 0xf0 && lead < 0xf5 ? 4
                                                        : 0;
    if (length == 0 || length > text.size()) return 0;
    uint32_t code = lead & (0x7fu >> length);
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(i) & 0x3fu);
    }
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    const bool is_control = code < 0xa0;
    const bool is_none = (code & 0xfffe) == 0xfffe || code > 0x10ffff;
    return code < kLeast[length] || is_surrogate || is_control || is_none ? 0 : length;
}

}  // namespace

std::string escape(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const size_t length = character_length(text);
        const std::string_view character = text.substr(0, std::max<size_t>(1, length));
        text.remove_prefix(character.size());
        if (length == 0)
            out += '?';
        else if (character == "&")
            out += "&amp;";
        else if (character == "<")
            out += "&lt;";
        else if (character == ">")
            out += "&gt;";
        else if (character == "\"")
            out += "&quot;";
        else
            out += character;
    }
    return out;
}

}  // namespace mpd

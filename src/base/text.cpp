#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace base {

std::string for_log(std::string_view text, size_t limit) {
    std::string out(text.substr(0, limit));
    std::ranges::replace_if(
        out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    if (text.size() > limit) out += "...";
    return out;
}

void append_vformat(std::string& out, fmt::string_view format, fmt::format_args arguments) {
    fmt::vformat_to(std::back_inserter(out), format, arguments);
}

}  // namespace base

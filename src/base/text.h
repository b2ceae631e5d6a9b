#pragma once
// Text of a peer in our own words: log lines and error texts.

#include <string>
#include <string_view>

namespace base {

// text without control bytes ('?' stands for each), and not longer than limit bytes; "..." follows what was cut.
std::string for_log(std::string_view text, size_t limit = 200);

}  // namespace base

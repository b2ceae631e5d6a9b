#pragma once
// Making texts.

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace base {

// A peer's text for log lines and error texts: without control bytes ('?' stands for each), and not longer than limit
// bytes; "..." follows what was cut.
std::string for_log(std::string_view text, size_t limit = 200);

// out grows by vformat(format, arguments).
void append_vformat(std::string& out, fmt::string_view format, fmt::format_args arguments);

// The same for fmt::format's arguments. fmt::format_to() would compile the whole of fmt's formatting in each source.
template <class... Args>
void append_format(std::string& out, fmt::format_string<Args...> format, Args&&... arguments) {
    append_vformat(out, format, fmt::make_format_args(arguments...));
}

}  // namespace base

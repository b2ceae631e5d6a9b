#pragma once
// Text formatting.

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace base {

// A peer's text for log lines and error texts: each control byte is replaced by '?', and it is at most limit bytes
// long; "..." marks what was cut.
std::string for_log(std::string_view text, size_t limit = 200);

// Appends vformat(format, arguments) to out.
void append_vformat(std::string& out, fmt::string_view format, fmt::format_args arguments);

// The same with fmt::format's arguments. fmt::format_to() would compile all of fmt's formatting in each source file.
template <class... Args>
void append_format(std::string& out, fmt::format_string<Args...> format, Args&&... arguments) {
    append_vformat(out, format, fmt::make_format_args(arguments...));
}

}  // namespace base

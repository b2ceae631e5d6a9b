#pragma once
// Log lines that a client or a peer can cause again and again, where no object keeps a LogLimit for them: each line of
// code, which is known by its format, has one limit in this process. scripts/check_layers wants this form, or that of
// log_limit.h, at the levels warn and error of all that talks to clients and peers.

#include "runtime/loop/log_limit.h"

namespace runtime {

LogLimit& limit_of_line(std::string_view format);

template <class... Args>
void warn_limited(fmt::format_string<Args...> format, Args&&... args) {
    const fmt::string_view text = format;
    warn_some(limit_of_line({text.data(), text.size()}), format, std::forward<Args>(args)...);
}
template <class... Args>
void error_limited(fmt::format_string<Args...> format, Args&&... args) {
    const fmt::string_view text = format;
    error_some(limit_of_line({text.data(), text.size()}), format, std::forward<Args>(args)...);
}

}  // namespace runtime

// Fuzzes the round trip: a path made from a pattern must always match that pattern.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/path_match.h"
#include "config/path_variables.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size < 600 ? size : 600);
    const size_t line = text.find('\n');
    const std::string_view pattern = text.substr(0, line);
    const std::string_view path = line == text.npos ? std::string_view() : text.substr(line + 1);
    const auto names = config::match_path(pattern, path, "v");
    if (names && names->app.empty() != names->stream.empty()) __builtin_trap();
    if (path.empty() || path.find('/') != path.npos || pattern.starts_with("./")) return 0;
    config::PathVariables variables;
    variables.set("vhost", "v").set("app", path).set("stream", path).set("seq", "7").set("duration", "3");
    variables.set_time(1'700'000'000'123, true);
    const std::string made = variables.expand(pattern);
    if (made.size() < 2000 && !config::match_path(pattern, made, "v")) __builtin_trap();
    return 0;
}

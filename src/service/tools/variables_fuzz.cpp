// Fuzzes what a client's names do in the arguments of a tool: whatever they are, an argument becomes no option, and a
// path has no other directories than its pattern. The first line is the pattern, the others are app, stream and
// parameters; [tcUrl] is the last one, too.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "service/tools/variables.h"

namespace {

std::string_view next_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

bool has_control(std::string_view text) {
    return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), std::min<size_t>(size, 2000));
    const std::string_view pattern = next_line(text);
    service::tools::StreamNames names;
    names.key = {"v", std::string(next_line(text)), std::string(next_line(text))};
    names.params = next_line(text);
    names.tc_url = names.params;
    const service::tools::Variables variables(names, "engine");
    if (const auto argument = variables.argument(pattern)) {
        if (argument->starts_with('-') && !pattern.starts_with('-')) __builtin_trap();
        if (has_control(*argument) && !has_control(pattern)) __builtin_trap();
    }
    if (const auto path = variables.path(pattern)) {
        if (std::ranges::count(*path, '/') != std::ranges::count(pattern, '/')) __builtin_trap();
        if (path->find("/../") != path->npos && pattern.find("..") == pattern.npos &&
            pattern.find("][") == pattern.npos && pattern.find(".[") == pattern.npos &&
            pattern.find("].") == pattern.npos)
            __builtin_trap();
        if (has_control(*path) && !has_control(pattern)) __builtin_trap();
    }
    const std::string log = service::tools::log_name("ffmpeg-exec", names.key);
    if (log.size() > 255 || log.find('/') != log.npos || has_control(log)) __builtin_trap();
    return 0;
}

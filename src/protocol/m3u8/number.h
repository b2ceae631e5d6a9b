#pragma once
// Numbers of tags and of directives: "decimal-integer" (RFC 8216, 4.2).

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/text.h"

namespace m3u8 {

// name: for the error, which is kProtocol.
inline base::Result<uint64_t> number(std::string_view name, std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return base::fail(base::Code::kProtocol, fmt::format("{}: '{}' is no number", name, base::for_log(text, 40)));
    return value;
}

}  // namespace m3u8

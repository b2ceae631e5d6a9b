#pragma once
// Times in parameters. Pure.

#include <cstdint>
#include <optional>
#include <string_view>

namespace service::api {

// Milliseconds since 1970: of "1764450184" (s, or ms where it is above 10^11), "2026-11-29T21:03:04Z" and shorter
// ("2026-11-29", "2026-11-29T21:03"; without Z in the server's time zone), "-12h" (before now; s, m, h, d). Nothing: it
// is none of these.
std::optional<int64_t> parse_time(std::string_view text, int64_t now_ms);
// "2026-11-29" or "20261129": 20261129.
std::optional<int> parse_day(std::string_view text);

}  // namespace service::api

#pragma once
// Times as JSON, playlists and queries have them: RFC 3339, a profile of ISO 8601. It reads no clock.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace http {

// "2026-01-31T23:59:59.123Z", also with fewer or more decimals, or with "+01:00" for the Z, whose '+' may have become a
// space: ms since 1970. Years 1970 to 9999.
std::optional<int64_t> parse_timestamp(std::string_view text);
std::string format_timestamp(int64_t unix_ms);

}  // namespace http

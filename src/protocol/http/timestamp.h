#pragma once
// Times as JSON, playlists and queries have them: RFC 3339, a profile of ISO 8601. It reads no clock.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/http/url.h"

namespace http {

// "2026-01-31T23:59:59.123Z", also with fewer or more decimals, or with "+01:00" for the Z, whose '+' may have become a
// space: ms since 1970. Years 1970 to 9999.
std::optional<int64_t> parse_timestamp(std::string_view text);
std::string format_timestamp(int64_t unix_ms);

// By the wall clock, ms since 1970.
struct TimeRange {
    int64_t from_ms = 0;
    int64_t to_ms = 0;
};
// The parameters from and to of a query: RFC 3339, seconds since 1970, or, negative, seconds before now, which is `to`
// where that is absent. kProtocol: they are not.
base::Result<TimeRange> time_range(const Parameters& parameters, int64_t now_ms);

}  // namespace http

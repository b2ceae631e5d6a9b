#pragma once
// HTTP dates (RFC 9110, section 5.6.7). It reads no clock: the caller passes the time.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace http {

// Seconds since 1970 -> "Sun, 06 Nov 1994 08:49:37 GMT". Years 0 to 9999; values outside are clamped.
std::string format_date(int64_t unix_seconds);
// All three forms that recipients must accept: IMF-fixdate, RFC 850's and asctime's.
std::optional<int64_t> parse_date(std::string_view text);

}  // namespace http

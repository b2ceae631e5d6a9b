#pragma once
// HMAC-SHA256 (RFC 2104, FIPS 180-4) as lower-case hex, and a constant-time comparison.

#include <string>
#include <string_view>

namespace net {

std::string hmac_sha256_hex(std::string_view key, std::string_view text);
// Whether both are equal; the time does not depend on where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace net

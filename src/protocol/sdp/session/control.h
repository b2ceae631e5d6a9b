#pragma once
// Control URLs of RTSP descriptions (RFC 2326, C.1.1), as servers and clients build them: a relative control is
// appended to the base with a slash between, behind a query too, and not resolved by RFC 3986.

#include <string>
#include <string_view>

namespace sdp {

// control: a=control's value; "*" or empty: the base itself. base: absolute. The result has no user and password.
std::string resolve_control(std::string_view base, std::string_view control);
// The URL without user and password.
std::string without_credentials(std::string_view url);
// Whether both URLs mean the same: scheme and host in any case, the default port or none, a slash at the end or none.
bool same_url(std::string_view a, std::string_view b);
// Whether their paths and queries are the same, on whatever host.
bool same_path(std::string_view a, std::string_view b);

}  // namespace sdp

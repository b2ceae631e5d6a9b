#pragma once
// Request targets and their parts (RFC 3986, sections 2.1, 3 and 5.2.4; RFC 9112, section 3.2): percent-encoding, query
// parameters, paths without traversal. It does not resolve relative references.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace http {

// Each %XX becomes its byte, in one pass. kProtocol: an incomplete or malformed escape, or an encoded NUL.
base::Result<std::string> percent_decode(std::string_view text);
// Everything but unreserved characters and those of `keep` becomes %XX.
std::string percent_encode(std::string_view text, std::string_view keep = "/");

// A path that is safe to append to a root directory: decoded once, starts with '/', no empty and no "." segments; a
// trailing slash is kept. kProtocol: not absolute, a control character, or a ".." segment, whether plain, encoded or
// encoded twice, with '/' or '\'.
base::Result<std::string> safe_path(std::string_view raw_path);

// The path up to its last slash, with that; empty: it has none.
std::string_view directory_of(std::string_view path);
// A reference (RFC 3986, 4.2) to a path from what is at `from`: "../b/c", percent-encoded. Both are relative to the
// same root.
std::string relative_reference(std::string_view from, std::string_view path);

using Parameters = std::vector<std::pair<std::string, std::string>>;
// "a=1&b=x%20y+z": '+' is a space. A malformed escape is taken literally; parameters after the first 64 are ignored.
Parameters parse_query(std::string_view query);
std::optional<std::string_view> find_parameter(const Parameters& parameters, std::string_view name);
// The query "a=1&b", as sent, without the parameters of these names. Names are compared decoded, as the receiver reads
// them; a name with a control character is left out, too: some receivers end it there.
std::string without_parameters(std::string_view query, std::span<const std::string_view> names);
// The same without those whose name `leaves_out` returns true for.
std::string without_parameters(std::string_view query, const std::function<bool(std::string_view name)>& leaves_out);

// A request target: "/path?query", "http://host:port/path?query" or "*".
struct Target {
    std::string_view authority;  // "host:port" of the absolute form, else empty
    std::string_view path;       // as sent; "/" where the absolute form has no path
    std::string_view query;      // after '?', without a fragment
};
// kProtocol when it has none of these forms. The parts point into the text.
base::Result<Target> split_target(std::string_view text);

// A Host header or authority: "host", "host:port", "[::1]:port", without user information.
struct HostPort {
    std::string host;   // lower case, without brackets
    uint16_t port = 0;  // 0 when there is none
};
base::Result<HostPort> parse_host(std::string_view text);

// A URL to fetch from: "http://host[:port]/path?query" or "https://...". A fragment is removed.
struct AbsoluteUrl {
    bool tls = false;
    std::string host;  // lower case, without brackets
    uint16_t port = 0;
    std::string authority;  // for the Host field: with the port only where it is not the scheme's default
    std::string target;     // "/path?query"
};
// kConfig: another scheme, no host, user information, or a character that must have been percent-encoded.
base::Result<AbsoluteUrl> parse_absolute_url(std::string_view text);

}  // namespace http

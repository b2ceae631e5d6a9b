#pragma once
// gzip (RFC 1952) for playlists, by zlib, and whether a client accepts it (RFC 9110, 12.5.3).

#include <string>
#include <string_view>

namespace service::hls {

// Empty if zlib has no memory.
std::string gzip(std::string_view text);
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace service::hls

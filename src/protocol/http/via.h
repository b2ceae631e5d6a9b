#pragma once
// The path of a request or a stream: the names of the servers that it passed, "a,b", in their order. By HTTP and RTSP
// it is the header field Via (RFC 9110, 7.6.3): the pseudonyms of its entries, without comments and protocol versions.

#include <cstddef>
#include <string>
#include <string_view>

namespace http {

inline constexpr size_t kMaxViaPath = 1024;  // bytes of such a list; what exceeds them is left out

// Bytes that no such name has are left out, and entries without a name.
std::string path_of_via(std::string_view via);
// The reverse. protocol: "1.1"; of another one than HTTP with its name, "RTSP/1.0".
std::string via_of_path(std::string_view path, std::string_view protocol = "1.1");

// Whether the path has that server.
bool has_passed(std::string_view path, std::string_view server);

}  // namespace http

#pragma once
// Texts that an edge passes to its origins: parameters of clients, and the servers that a request has passed.

#include <cstddef>
#include <string>
#include <string_view>

namespace service::edge {

inline constexpr size_t kMaxParams = 1024;  // bytes

// A client's "?k=v&...", without what is meant for this server: its vhost, the session of HLS, the choice of tracks.
// Empty: there is none, or it is too long, or has bytes that a URL has not.
std::string params_for_origin(std::string_view params);

// Adds the names of the second list, "a,b", to the first, each once. What exceeds rtmp::kMaxForwardPath is left out.
void add_to_path(std::string& path, std::string_view more);
// Whether the list has that name.
bool has_name(std::string_view path, std::string_view name);

}  // namespace service::edge

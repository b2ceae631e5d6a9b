#pragma once
// Texts that an edge passes to its origins: parameters of clients, and the servers that a request has passed.

#include <cstddef>
#include <string>
#include <string_view>

namespace service::edge {

inline constexpr size_t kMaxParams = 1024;  // bytes

// A client's "?k=v&...", without what is meant for this server: its vhost, the session of HLS, the choice of tracks,
// in whatever way these names are encoded. Empty: there is none, or it is too long, or has bytes that a URL has not.
std::string params_for_origin(std::string_view params);

// A name by which a server calls itself in the requests of its pulls: 32 hexadecimal digits, by chance. None but its
// origins learn it, so that nobody else can claim that a request has passed there.
std::string new_request_name();
// Adds the names of the second list, "a,b", to the first, each once: those of new_request_name(), because any other
// may be the public one of some server, which would refuse what all ask for. What exceeds rtmp::kMaxForwardPath is
// left out.
void add_to_path(std::string& path, std::string_view more);

}  // namespace service::edge

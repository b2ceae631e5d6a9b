#pragma once
// The listeners that serve a URL, as the configuration has them. Pure.

#include <span>
#include <string_view>
#include <vector>

#include "config/listeners.h"
#include "server/why/target.h"

namespace server::why {

// The directives outside of vhosts that have to be on for the URL, the outer block first.
std::span<const std::string_view> switches_of(const Target& target);

struct Listening {
    std::string_view path;  // of the directive: "http_server/listen"
    config::Transport transport = config::Transport::kTcp;
    config::ListenAddress address;
};
// Where clients with the URL may connect first; of WebRTC the HTTP servers that take offers. Empty: it is not enabled.
std::vector<Listening> addresses_of(const Target& target, const config::Snapshot& snapshot);
// The block of the directive, which has the certificate: "http_server/https".
std::string_view block_of(const Listening& listening);

}  // namespace server::why

#pragma once
// The listeners that serve a URL, as the configuration has them. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/listeners.h"
#include "server/why/target.h"
#include "service/url/protocol.h"

namespace server::why {

// By which the protocol is served, as the URL has it: with TLS or without.
const service::url::Listeners& listeners_of(const Target& target);

// Whether the listener, by the path of its directive, has the URL: pages are the HTTP server's alone.
bool serves(const Target& target, std::string_view listener);

struct Listening {
    std::string_view path;  // of the directive: "http_server/listen"
    config::Transport transport = config::Transport::kTcp;
    config::ListenAddress address;
};
// Where clients with the URL may connect first; of WebRTC the HTTP servers that take offers. Empty: it is not enabled.
std::vector<Listening> addresses_of(const Target& target, const config::Snapshot& snapshot);
// The one with the URL's port.
std::optional<Listening> listener_of(const Target& target, const config::Snapshot& snapshot);
// Where this machine itself reaches it.
std::string local_host_of(const config::ListenAddress& address);
// The block of the directive, which has the certificate: "http_server/https".
std::string_view block_of(const Listening& listening);

}  // namespace server::why

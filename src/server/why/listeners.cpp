#include "server/why/listeners.h"

#include <utility>

namespace server::why {

const service::url::Listeners& listeners_of(const Target& target) {
    return target.tls ? target.protocol->tls : target.protocol->plain;
}

bool serves(const Target& target, std::string_view listener) {
    return !target.is_page || !listener.starts_with("http_api/");
}

std::vector<Listening> addresses_of(const Target& target, const config::Snapshot& snapshot) {
    std::vector<Listening> found;
    for (const std::string_view path : listeners_of(target).listeners) {
        if (!serves(target, path)) continue;
        for (const config::Listener& listener : config::listeners()) {
            const config::ListenAddresses* addresses = path == listener.path ? listener.addresses(snapshot) : nullptr;
            if (!addresses) continue;
            for (const config::ListenAddress& address : *addresses)
                found.push_back({path, listener.transport, address});
        }
    }
    return found;
}

std::optional<Listening> listener_of(const Target& target, const config::Snapshot& snapshot) {
    for (Listening& one : addresses_of(target, snapshot))
        if (one.address.port == target.port) return std::move(one);
    return std::nullopt;
}

std::string local_host_of(const config::ListenAddress& address) {
    if (address.host.empty() || address.host == "0.0.0.0") return "127.0.0.1";
    return address.host == "::" ? "::1" : address.host;
}

std::string_view block_of(const Listening& listening) { return listening.path.substr(0, listening.path.rfind('/')); }

}  // namespace server::why

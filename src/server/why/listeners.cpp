#include "server/why/listeners.h"

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

std::string_view block_of(const Listening& listening) { return listening.path.substr(0, listening.path.rfind('/')); }

}  // namespace server::why

#include "config/listeners.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "config/section.h"

namespace config {
namespace {

constexpr auto kTcp = Transport::kTcp;

template <class Section>
const ListenAddresses* of(const Section& section) {
    return section.enabled ? &section.listen : nullptr;
}

template <class Outer, class Inner>
const ListenAddresses* of(const Outer& outer, const Inner& inner) {
    return outer.enabled ? of(inner) : nullptr;
}

constexpr Listener kServers[] = {
    {"rtmp", "rtmp/listen", "rtmp", "rtmp", kTcp, [](const Snapshot& s) { return &s.rtmp.listen; }},
    {"rtmp", "rtmps/listen", "rtmps", "rtmps", kTcp, [](const Snapshot& s) { return of(s.rtmps); }},
    {"http_server", "http_server/listen", "http", "http", kTcp, [](const Snapshot& s) { return of(s.http_server); }},
    {"http_server", "http_server/https/listen", "https", "https", kTcp,
     [](const Snapshot& s) { return of(s.http_server, s.http_server.https); }},
    {"http_api", "http_api/listen", "api", "api", kTcp, [](const Snapshot& s) { return of(s.http_api); }},
    {"http_api", "http_api/https/listen", "api over TLS", "apis", kTcp,
     [](const Snapshot& s) { return of(s.http_api, s.http_api.https); }},
};

}  // namespace

std::span<const Listener> listeners() {
    static const std::vector<Listener> kAll = [] {
        std::vector<Listener> all(std::begin(kServers), std::end(kServers));
        for (const Section& section : sections())
            all.insert(all.end(), section.listeners.begin(), section.listeners.end());
        return all;
    }();
    return kAll;
}

bool is_shared(const Snapshot& snapshot, const ListenAddress& address) {
    const HttpServer& web = snapshot.http_server;
    const HttpApi& api = snapshot.http_api;
    if (!web.enabled || !api.enabled) return false;
    auto has = [&](const ListenAddresses& addresses) {
        return std::ranges::find(addresses, address) != addresses.end();
    };
    return (has(web.listen) && has(api.listen)) ||
           (web.https.enabled && api.https.enabled && has(web.https.listen) && has(api.https.listen));
}

}  // namespace config

#include "config/listeners.h"

#include <algorithm>

namespace config {
namespace {

constexpr auto kTcp = Transport::kTcp, kUdp = Transport::kUdp;

template <class Section>
const ListenAddresses* of(const Section& section) {
    return section.enabled ? &section.listen : nullptr;
}

template <class Outer, class Inner>
const ListenAddresses* of(const Outer& outer, const Inner& inner) {
    return outer.enabled ? of(inner) : nullptr;
}

constexpr Listener kListeners[] = {
    {"rtmp", "rtmp/listen", "rtmp", "rtmp", kTcp, [](const Snapshot& s) { return &s.rtmp.listen; }},
    {"rtmp", "rtmps/listen", "rtmps", "rtmps", kTcp, [](const Snapshot& s) { return of(s.rtmps); }},
    {"http_server", "http_server/listen", "http", "http", kTcp, [](const Snapshot& s) { return of(s.http_server); }},
    {"http_server", "http_server/https/listen", "https", "https", kTcp,
     [](const Snapshot& s) { return of(s.http_server, s.http_server.https); }},
    {"http_api", "http_api/listen", "api", "api", kTcp, [](const Snapshot& s) { return of(s.http_api); }},
    {"http_api", "http_api/https/listen", "api over TLS", "apis", kTcp,
     [](const Snapshot& s) { return of(s.http_api, s.http_api.https); }},
    {"rtc", "rtc_server/listen", "webrtc", "rtc", kUdp, [](const Snapshot& s) { return of(s.rtc_server); }},
    {"rtc", "rtc_server/tcp/listen", "webrtc over TCP", "rtc_tcp", kTcp,
     [](const Snapshot& s) { return of(s.rtc_server, s.rtc_server.tcp); }},
    {"exporter", "exporter/listen", "exporter", "exporter", kTcp, [](const Snapshot& s) { return of(s.exporter); }},
};

}  // namespace

std::span<const Listener> listeners() { return kListeners; }

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

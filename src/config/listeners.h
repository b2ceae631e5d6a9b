#pragma once
// The configured listeners: one list for code that checks, tries or reports them.

#include <cstdint>

#include "config/snapshot.h"

namespace config {

enum class Transport : uint8_t { kTcp, kUdp };

// Calls use(path of the directive, a name for people, transport, addresses) for each that is enabled. S: Snapshot,
// const or not.
template <class S, class Use>
void for_each_listener(S& s, Use&& use) {
    use("rtmp/listen", "rtmp", Transport::kTcp, s.rtmp.listen);
    if (s.rtmps.enabled) use("rtmps/listen", "rtmps", Transport::kTcp, s.rtmps.listen);
    if (s.http_server.enabled) {
        use("http_server/listen", "http", Transport::kTcp, s.http_server.listen);
        if (s.http_server.https.enabled)
            use("http_server/https/listen", "https", Transport::kTcp, s.http_server.https.listen);
    }
    if (s.http_api.enabled) {
        use("http_api/listen", "api", Transport::kTcp, s.http_api.listen);
        if (s.http_api.https.enabled)
            use("http_api/https/listen", "api over TLS", Transport::kTcp, s.http_api.https.listen);
    }
    if (s.rtc_server.enabled) {
        use("rtc_server/listen", "webrtc", Transport::kUdp, s.rtc_server.listen);
        if (s.rtc_server.tcp.enabled)
            use("rtc_server/tcp/listen", "webrtc over TCP", Transport::kTcp, s.rtc_server.tcp.listen);
    }
    if (s.exporter.enabled) use("exporter/listen", "exporter", Transport::kTcp, s.exporter.listen);
}

// Whether both http_server and http_api, or their https, have that address: http_server's listener then serves both.
bool is_shared(const Snapshot& snapshot, const ListenAddress& address);

}  // namespace config

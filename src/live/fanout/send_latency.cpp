#include "live/fanout/send_latency.h"

namespace live {

std::string protocol_of(const LogKey& key) {
    constexpr std::string_view kWebSocket = "ws/";
    if (!key.starts_with(kWebSocket)) return key.substr(0, key.find('/'));
    return "ws-" + protocol_of(key.substr(kWebSocket.size()));
}

std::map<std::string, SendLatency>& send_latencies() {
    static std::map<std::string, SendLatency> all;
    return all;
}

}  // namespace live

#include "service/heartbeat/report.h"

namespace service::heartbeat {

using nlohmann::ordered_json;

ordered_json listening_ports(const config::Snapshot& snapshot) {
    ordered_json ports = ordered_json::object();
    auto add = [&](bool enabled, const char* name, const config::ListenAddresses& addresses) {
        if (!enabled) return;
        ordered_json list = ordered_json::array();
        for (const config::ListenAddress& address : addresses) list.push_back(address.text());
        ports[name] = std::move(list);
    };
    const config::HttpServer& http = snapshot.http_server;
    const config::HttpApi& api = snapshot.http_api;
    add(true, "rtmp", snapshot.rtmp.listen);
    add(snapshot.rtmps.enabled, "rtmps", snapshot.rtmps.listen);
    add(http.enabled, "http", http.listen);
    add(http.enabled && http.https.enabled, "https", http.https.listen);
    add(api.enabled, "api", api.listen);
    add(api.enabled && api.https.enabled, "apis", api.https.listen);
    return ports;
}

std::string make_report(const config::Snapshot& snapshot, std::string_view ip, std::string_view summaries) {
    const config::Heartbeat& heartbeat = snapshot.heartbeat;
    ordered_json report;
    report["device_id"] = heartbeat.device_id.empty() ? snapshot.global.server_id : heartbeat.device_id;
    report["ip"] = ip;
    if (heartbeat.summaries) report["summaries"] = ordered_json::parse(summaries, nullptr, false);
    if (heartbeat.ports) {
        ordered_json ports = listening_ports(snapshot);
        report["ports"] = ports;
        report.update(ports);
    }
    return report.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace service::heartbeat

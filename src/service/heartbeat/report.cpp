#include "service/heartbeat/report.h"

#include "base/json.h"

namespace service::heartbeat {

using base::OrderedJson;

namespace {

// {"rtmp": ["1935"], "http": [...] ...}: the enabled listeners.
OrderedJson listening_ports(const config::Snapshot& snapshot) {
    OrderedJson ports = OrderedJson::object();
    auto add = [&](bool enabled, const char* name, const config::ListenAddresses& addresses) {
        if (!enabled) return;
        OrderedJson list = OrderedJson::array();
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
    add(snapshot.rtc_server.enabled, "rtc", snapshot.rtc_server.listen);
    return ports;
}

}  // namespace

std::string make_report(const config::Snapshot& snapshot, const Reporter& reporter, std::string_view summaries) {
    const config::Heartbeat& heartbeat = snapshot.heartbeat;
    OrderedJson report;
    report["device_id"] = heartbeat.device_id.empty() ? snapshot.global.server_id : heartbeat.device_id;
    report["ip"] = reporter.ip;
    report["server"] = snapshot.global.server_id;
    report["service"] = reporter.service;
    report["pid"] = reporter.pid;
    if (heartbeat.ports) {
        OrderedJson ports = listening_ports(snapshot);
        report["ports"] = ports;
        report.update(ports);
    }
    std::string text = base::to_text(report);
    if (heartbeat.summaries) text.insert(text.size() - 1, fmt::format(R"(,"summaries":{{"data":{}}})", summaries));
    return text;
}

}  // namespace service::heartbeat

#include "service/heartbeat/report.h"

#include "base/json.h"
#include "config/listeners.h"
#include "service/heartbeat/config.h"

namespace service::heartbeat {

using base::OrderedJson;

namespace {

// {"rtmp": ["1935"], "http": [...] ...}: the enabled listeners.
OrderedJson listening_ports(const config::Snapshot& snapshot) {
    OrderedJson ports = OrderedJson::object();
    for (const config::Listener& listener : config::listeners()) {
        const config::ListenAddresses* addresses = listener.addresses(snapshot);
        if (!addresses) continue;
        OrderedJson list = OrderedJson::array();
        for (const config::ListenAddress& address : *addresses) list.push_back(address.text());
        ports[std::string(listener.report_name)] = std::move(list);
    }
    return ports;
}

}  // namespace

std::string make_report(const config::Snapshot& snapshot, const Reporter& reporter, std::string_view summaries) {
    const ServerConfig& heartbeat = snapshot.get<ServerConfig>();
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

#include "service/heartbeat/config.h"

#include "config/row_builder.h"

namespace service::heartbeat {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope beat{"heartbeat",
                     [](const auto& root) -> decltype(auto) { return (root.snapshot->template get<ServerConfig>()); }};
    using H = ServerConfig;
    rows.push_back(row(beat, "enabled", &H::enabled, none(), kLive, "Reports this server to another one."));
    rows.push_back(row(beat, "interval", &H::interval, seconds(0.1, 86'400), kLive, "From report to report."));
    rows.push_back(row(beat, "url", &H::url, http_url(), kLive, "Where reports are posted."));
    rows.push_back(row(beat, "device_id", &H::device_id, none(), kLive,
                       "The name in the reports; when not given, server_id.", "my-srs-device"));
    rows.push_back(
        row(beat, "summaries", &H::summaries, none(), kLive, "Reports carry what /api/v1/summaries answers."));
    rows.push_back(row(beat, "ports", &H::ports, none(), kLive, "Reports carry the addresses that are listened on."));
}

}  // namespace

config::Section section() { return {.service = "heartbeat", .add_rows = add_rows}; }

}  // namespace service::heartbeat

#include "service/heartbeat/config.h"

#include "config/row_builder.h"

namespace service::heartbeat {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope beat{"heartbeat", kOfServer<ServerConfig>};
    using H = ServerConfig;
    rows.push_back(
        row(beat, "enabled", &H::enabled, none(), kLive, "Reports the state of this server to another server."));
    rows.push_back(row(beat, "interval", &H::interval, seconds(0.1, 86'400), kLive, "Interval between two reports."));
    rows.push_back(row(beat, "url", &H::url, http_url(), kLive, "URL to which reports are posted."));
    rows.push_back(row(beat, "device_id", &H::device_id, none(), kLive,
                       "Name of this server in the reports; without a value server_id.", "my-srs-device"));
    rows.push_back(
        row(beat, "summaries", &H::summaries, none(), kLive, "Reports contain the response of /api/v1/summaries."));
    rows.push_back(
        row(beat, "ports", &H::ports, none(), kLive, "Reports contain the addresses on which the server listens."));
    const Scope auth{"heartbeat/auth", [](const auto& root) -> decltype(auto) {
                         return (root.snapshot->template get<ServerConfig>().auth);
                     }};
    using A = AuthConfig;
    rows.push_back(row(auth, "enabled", &A::enabled, none(), kLive, "Reports have credentials, as in SRS 8."));
    rows.push_back(row(auth, "type", &A::type, one_of({"bearer"}), kLive, "Their kind: a token.", "bearer"));
    rows.push_back(
        row(auth, "token", &A::token, none(), kLive, "The token (Authorization: Bearer ...).", "0f3c9a1b7d2e4856"));
}

void check(config::Checks& checks) {
    const ServerConfig& heartbeat = checks.snapshot().get<ServerConfig>();
    if (heartbeat.enabled && heartbeat.auth.enabled && heartbeat.auth.token.empty())
        checks.error("heartbeat/auth/enabled",
                     "heartbeat's auth needs a token: `token ...;` or SRS_HEARTBEAT_AUTH_TOKEN");
}

}  // namespace

config::Section section() { return {.service = "heartbeat", .add_rows = add_rows, .check = check}; }

}  // namespace service::heartbeat

// The rows of outgoing traffic to other servers: forwarded streams and heartbeats.

#include "config/row_builder.h"

namespace config {

void add_forward_rows(std::vector<Row>& rows) {
    const Scope beat{"heartbeat", [](const auto& root) -> decltype(auto) { return (root.snapshot->heartbeat); }};
    using H = Heartbeat;
    rows.push_back(row(beat, "enabled", &H::enabled, false, none(), kLive, "Reports this server to another one."));
    rows.push_back(row(beat, "interval", &H::interval, 9.9, seconds(0.1, 86'400), kLive, "From report to report."));
    rows.push_back(row(beat, "url", &H::url, "http://127.0.0.1:8085/api/v1/servers", http_url(), kLive,
                       "Where reports are posted."));
    rows.push_back(row(beat, "device_id", &H::device_id, "", none(), kLive,
                       "The name in the reports; when not given, server_id.", "my-srs-device"));
    rows.push_back(
        row(beat, "summaries", &H::summaries, false, none(), kLive, "Reports carry what /api/v1/summaries answers."));
    rows.push_back(
        row(beat, "ports", &H::ports, false, none(), kLive, "Reports carry the addresses that are listened on."));

    const Scope scope{"vhost/forward", [](const auto& root) -> decltype(auto) { return (root.vhost->forward); }};
    using F = VhostForward;
    rows.push_back(row(scope, "enabled", &F::enabled, false, none(), kLive,
                       "Every published stream is published to other servers too, by RTMP; see doc/forward.md."));
    rows.push_back(row(scope, "destination", &F::destination, {}, none(), kLive,
                       "Those servers: HOST, HOST:PORT, rtmps://HOST:PORT; or rtmp://HOST:PORT/APP/STREAM, where "
                       "[vhost], [app] and [stream] are filled in.",
                       "127.0.0.1:1936 127.0.0.1:1937"));
    rows.push_back(row(scope, "backend", &F::backend, "", http_url(), kLive,
                       "URL that is asked for the destinations of each stream that is published, in place of "
                       "`destination`.",
                       "http://127.0.0.1:8085/api/v1/forward"));
}

}  // namespace config

#include "service/forward/config.h"

#include "config/row_builder.h"
#include "service/forward/destination.h"

namespace service::forward {
namespace {

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope scope{"vhost/forward", kOfVhost<VhostConfig>};
    using F = VhostConfig;
    rows.push_back(row(
        scope, "enabled", &F::enabled, none(), kLive,
        "Every published stream is also published to other servers, by RTMP, RTSP, SRT or UDP; see doc/forward.md."));
    rows.push_back(row(scope, "destination", &F::destination, none(), kLive,
                       "The other servers: HOST, HOST:PORT, rtmps://HOST:PORT; or rtmp://HOST:PORT/APP/STREAM, "
                       "where [vhost], [app] and [stream] are replaced; the same with rtsp:// and rtsps://, there "
                       "with rtsp://USER:PASSWORD@HOST; or srt://HOST:PORT?streamid=...&passphrase=..., "
                       "or udp://HOST:PORT?interface=...&ttl=..., or the same with rtp://.",
                       "127.0.0.1:1936 127.0.0.1:1937"));
    rows.push_back(row(scope, "backend", &F::backend, http_url(), kLive,
                       "URL that is queried for the destinations of each published stream, instead of "
                       "`destination`.",
                       "http://127.0.0.1:8085/api/v1/forward"));
}

void check_vhost(config::Checks& checks, config::Vhost& vhost) {
    const auto& forward = vhost.get<VhostConfig>();
    constexpr std::string_view kNames[] = {"vhost", "app", "stream"};
    constexpr const char* kDestination = "vhost/forward/destination";
    for (const std::string& text : forward.destination)
        if (auto parsed = parse_destination(text); !parsed)
            checks.error(vhost, kDestination, "destination: " + parsed.error().text());
        else if (forward.enabled)
            checks.check_variables(vhost, kDestination, parsed->path + parsed->parameters, kNames);
    if (!forward.enabled) return;
    if (forward.destination.empty() && forward.backend.empty())
        checks.warning(vhost, "vhost/forward/enabled", "forward is enabled without a destination or a backend");
    if (!forward.destination.empty() && !forward.backend.empty())
        checks.warning(vhost, kDestination, "destination does nothing beside a backend");
}

}  // namespace

config::Section section() { return {.service = "forward", .add_rows = add_rows, .check_vhost = check_vhost}; }

}  // namespace service::forward

#include "service/hook/config.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "config/row_builder.h"

namespace service::hook {
namespace {

constexpr std::string_view kStreams = "http://127.0.0.1:8085/api/v1/streams";
constexpr std::string_view kSessions = "http://127.0.0.1:8085/api/v1/sessions";

// By Hook.
constexpr std::array<std::vector<std::string> VhostConfig::*, kHookNames.size()> kUrls = {
    &VhostConfig::on_connect,    &VhostConfig::on_close,   &VhostConfig::on_publish, &VhostConfig::on_unpublish,
    &VhostConfig::on_play,       &VhostConfig::on_stop,    &VhostConfig::on_dvr,     &VhostConfig::on_hls,
    &VhostConfig::on_hls_notify, &VhostConfig::on_standby, &VhostConfig::on_start,   &VhostConfig::on_alert};

void add_outbox_rows(std::vector<config::Row>& rows) {
    using namespace config;
    using H = VhostConfig;
    const Scope scope{"vhost/http_hooks", kOfVhost<VhostConfig>};
    rows.push_back(row(scope, "on_failure", &H::on_failure, one_of({"deny", "allow", "last"}), kLive,
                       "What a failure of on_connect, on_publish and on_play (no response, or no valid one) means for "
                       "the client; last: what the same client was answered last, and deny if it was not."));
    rows.push_back(
        row(scope, "outbox", &H::outbox, none(), kLive,
            "Keeps reports in the file of hook_outbox until they are delivered, so that they survive a crash "
            "or a restart of the server; off: in memory."));
    rows.push_back(row(scope, "outbox_max_size", &H::outbox_max_size, megabytes(1, 1024), kLive,
                       "Maximum amount of reports of the vhost that wait for one host; further ones are dropped."));
    rows.push_back(row(scope, "outbox_max_age", &H::outbox_max_age, seconds(1, 31'536'000), kLive,
                       "Reports that could not be delivered for so long are dropped."));
    rows.push_back(row(scope, "outbox_concurrency", &H::outbox_concurrency, count(1, 256), kLive,
                       "Maximum number of calls with reports that are in progress to one host; of several vhosts the "
                       "largest counts."));
    rows.push_back(row(scope, "outbox_batch", &H::outbox_batch, count(1, 1000), kLive,
                       "Maximum number of reports in one call, whose body is an array of them then; 1: each alone, not "
                       "in an array."));
    const Scope global{"", kOfServer<ServerConfig>};
    rows.push_back(row(global, "hook_outbox", &ServerConfig::hook_outbox, none(), kRestart,
                       "File in which the server keeps the reports of vhosts with http_hooks { outbox on; }. It has "
                       "what clients put into their URLs, and is readable by the server's user alone."));
}

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope scope{"vhost/http_hooks", kOfVhost<VhostConfig>};
    using H = VhostConfig;
    auto urls = [&](std::string_view name, std::vector<std::string> H::*member, std::string_view doc,
                    std::string_view example) {
        rows.push_back(row(scope, name, member, none(), kLive, doc, example));
    };
    rows.push_back(guarding(row(scope, "enabled", &H::enabled, none(), kLive,
                                "Calls HTTP servers for a decision or with a report, see doc/hooks.md.")));
    urls("on_connect", &H::on_connect, "URLs queried when an RTMP client connects.", kSessions);
    urls("on_close", &H::on_close, "URLs notified when an RTMP client leaves.", kSessions);
    urls("on_publish", &H::on_publish, "URLs queried when a publisher begins.", kStreams);
    urls("on_unpublish", &H::on_unpublish, "URLs notified when a publisher ends.", kStreams);
    urls("on_play", &H::on_play, "URLs queried when a player begins.", kSessions);
    urls("on_stop", &H::on_stop, "URLs notified when a player ends.", kSessions);
    urls("on_dvr", &H::on_dvr, "URLs notified when a recording is complete.", "http://127.0.0.1:8085/api/v1/dvrs");
    urls("on_hls", &H::on_hls, "URLs notified when an HLS segment is complete.", "http://127.0.0.1:8085/api/v1/hls");
    urls("on_hls_notify", &H::on_hls_notify,
         "URLs fetched when an HLS segment is complete, to fill a cache. [server_id], "
         "[service_id], [app], [stream], [param] and [ts_url] are replaced.",
         "http://127.0.0.1:8085/api/v1/hls/[server_id]/[app]/[stream]/[ts_url][param]");
    urls("on_standby", &H::on_standby,
         "URLs notified when a publisher begins to wait as a standby, and when a standby takes over.", kStreams);
    urls("on_start", &H::on_start,
         "URLs notified when the server has started, with what a crash of the run before cut, if there is an outbox.",
         "http://127.0.0.1:8085/api/v1/starts");
    urls("on_alert", &H::on_alert,
         "URLs notified when an alert of the server, or of a stream of this vhost, begins and when it is over.",
         "http://127.0.0.1:8085/api/v1/alerts");
    rows.push_back(row(scope, "timeout", &H::timeout, milliseconds(10, 300'000), kLive,
                       "A call without a complete response within this time, the connection included, has "
                       "failed."));
    rows.push_back(
        row(scope, "retries", &H::retries, count(0, 100), kLive,
            "Number of retries of a report that has no valid response while its host gives others one, after "
            "0.5 s, 1 s, 2 s and so on, at most 30 s. While the host fails reports wait."));
    rows.push_back(row(
        scope, "fail_open", &H::fail_open, one_of({"on_connect", "on_publish", "on_play"}), kLive,
        "Hooks whose failure (no response, or no valid one) admits the client, whatever on_failure says.", "on_play"));
    rows.push_back(row(scope, "secret", &H::secret, none(), kLive,
                       "Secret that signs each call: X-SRS-Signature: t=SECONDS,v1=HMAC-SHA256 of \"t.body\".",
                       "change-me"));
    rows.push_back(row(scope, "ca_file", &H::ca_file, none(), kLive,
                       "Certificates (PEM) by which https:// hooks are verified; without a value those of the "
                       "system.",
                       "/etc/ssl/certs/ca-certificates.crt"));
    add_outbox_rows(rows);
    // It is in the hls block, as in SRS, but changing it does not change HLS output.
    const Scope hls{"vhost/hls", kOfVhost<VhostConfig>};
    rows.push_back(row(hls, "hls_nb_notify", &H::hls_nb_notify, bytes(0, 16 * 1024 * 1024), kLive,
                       "Maximum number of bytes read of the response to on_hls_notify."));
}

bool is_url(std::string_view text) {
    for (std::string_view scheme : {"http://", "https://"})
        if (text.starts_with(scheme) && text.size() > scheme.size() && text[scheme.size()] != '/') return true;
    return false;
}

void check_vhost(config::Checks& checks, config::Vhost& vhost) {
    const auto& hooks = vhost.get<VhostConfig>();
    if (!hooks.enabled) return;
    for (const config::Row& row : config::rows()) {
        if (row.scope != "vhost/http_hooks" || !hook_of(row.name)) continue;
        for (const std::string& url : config::split_words(row.binding.get({&checks.snapshot(), &vhost})))
            if (!is_url(url))
                checks.error(
                    vhost, row.path(),
                    fmt::format("{} '{}' must be a URL: http://HOST/... or https://HOST/...", row.path(), url));
    }
}

}  // namespace

const std::vector<std::string>& urls_of(Hook hook, const VhostConfig& hooks) {
    return hooks.*kUrls[static_cast<size_t>(hook)];
}

config::Section section() { return {.service = "hook", .add_rows = add_rows, .check_vhost = check_vhost}; }

}  // namespace service::hook

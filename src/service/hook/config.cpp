#include "service/hook/config.h"

#include <fmt/format.h>

#include <string_view>

#include "config/row_builder.h"

namespace service::hook {
namespace {

constexpr std::string_view kStreams = "http://127.0.0.1:8085/api/v1/streams";
constexpr std::string_view kSessions = "http://127.0.0.1:8085/api/v1/sessions";

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope scope{"vhost/http_hooks",
                      [](const auto& root) -> decltype(auto) { return (root.vhost->template get<VhostConfig>()); }};
    using H = VhostConfig;
    auto urls = [&](std::string_view name, std::vector<std::string> H::*member, std::string_view doc,
                    std::string_view example) {
        rows.push_back(row(scope, name, member, none(), kLive, doc, example));
    };
    rows.push_back(
        guarding(row(scope, "enabled", &H::enabled, none(), kLive, "Asks or tells HTTP servers, see doc/hooks.md.")));
    urls("on_connect", &H::on_connect, "URLs asked when an RTMP client connects.", kSessions);
    urls("on_close", &H::on_close, "URLs told when an RTMP client leaves.", kSessions);
    urls("on_publish", &H::on_publish, "URLs asked when a publisher begins.", kStreams);
    urls("on_unpublish", &H::on_unpublish, "URLs told when a publisher ends.", kStreams);
    urls("on_play", &H::on_play, "URLs asked when a player begins.", kSessions);
    urls("on_stop", &H::on_stop, "URLs told when a player ends.", kSessions);
    urls("on_dvr", &H::on_dvr, "URLs told when a recording is complete.", "http://127.0.0.1:8085/api/v1/dvrs");
    urls("on_hls", &H::on_hls, "URLs told when an HLS segment is complete.", "http://127.0.0.1:8085/api/v1/hls");
    urls("on_hls_notify", &H::on_hls_notify,
         "URLs fetched when an HLS segment is complete, to fill a cache; [server_id], [service_id], [app], [stream], "
         "[param] and [ts_url] are filled in.",
         "http://127.0.0.1:8085/api/v1/hls/[server_id]/[app]/[stream]/[ts_url][param]");
    rows.push_back(row(scope, "timeout", &H::timeout, milliseconds(10, 300'000), kLive,
                       "A hook that has not answered within this time has failed: connection and answer together."));
    rows.push_back(row(scope, "retries", &H::retries, count(0, 100), kLive,
                       "How often a hook that only tells is tried again when it failed, after 0.5 s, 1 s, 2 s, at "
                       "most 30 s."));
    rows.push_back(row(scope, "fail_open", &H::fail_open, one_of({"on_connect", "on_publish", "on_play"}), kLive,
                       "The hooks whose failure (no answer, no valid one) lets the client in; others' refuses it.",
                       "on_play"));
    rows.push_back(row(scope, "secret", &H::secret, none(), kLive,
                       "Signs each call: X-SRS-Signature: t=SECONDS,v1=HMAC-SHA256 of \"t.body\" by the secret.",
                       "change-me"));
    rows.push_back(row(scope, "ca_file", &H::ca_file, none(), kLive,
                       "Certificates (PEM) that https:// hooks are verified by; else the system's.",
                       "/etc/ssl/certs/ca-certificates.crt"));
    // It is in the hls block, as in SRS, but changing it does not change HLS output.
    const Scope hls{"vhost/hls",
                    [](const auto& root) -> decltype(auto) { return (root.vhost->template get<VhostConfig>()); }};
    rows.push_back(row(hls, "hls_nb_notify", &H::hls_nb_notify, bytes(0, 16 * 1024 * 1024), kLive,
                       "Most bytes read of the answer to on_hls_notify."));
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
        if (row.scope != "vhost/http_hooks" || !row.name.starts_with("on_")) continue;
        for (const std::string& url : config::split_words(row.binding.get({&checks.snapshot(), &vhost})))
            if (!is_url(url))
                checks.error(
                    vhost, row.path(),
                    fmt::format("{} '{}' must be a URL: http://HOST/... or https://HOST/...", row.path(), url));
    }
}

}  // namespace

config::Section section() { return {.service = "hook", .add_rows = add_rows, .check_vhost = check_vhost}; }

}  // namespace service::hook

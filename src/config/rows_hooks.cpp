// The rows of hooks and of signed URLs.

#include "config/row_builder.h"

namespace config {
namespace {

constexpr std::string_view kStreams = "http://127.0.0.1:8085/api/v1/streams";
constexpr std::string_view kSessions = "http://127.0.0.1:8085/api/v1/sessions";

void add_hooks(std::vector<Row>& rows) {
    const Scope scope{"vhost/http_hooks", [](const auto& root) -> decltype(auto) { return (root.vhost->http_hooks); }};
    using H = VhostHttpHooks;
    auto urls = [&](std::string_view name, std::vector<std::string> H::*member, std::string_view doc,
                    std::string_view example) {
        rows.push_back(row(scope, name, member, {}, none(), kLive, doc, example));
    };
    rows.push_back(
        row(scope, "enabled", &H::enabled, false, none(), kLive, "Asks or tells HTTP servers, see doc/hooks.md."));
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
    rows.push_back(row(scope, "timeout", &H::timeout, 5'000, milliseconds(10, 300'000), kLive,
                       "A hook that has not answered within this time has failed: connection and answer together."));
    rows.push_back(row(scope, "retries", &H::retries, 3, count(0, 100), kLive,
                       "How often a hook that only tells is tried again when it failed, after 0.5 s, 1 s, 2 s, at "
                       "most 30 s."));
    rows.push_back(row(scope, "fail_open", &H::fail_open, {}, one_of({"on_connect", "on_publish", "on_play"}), kLive,
                       "The hooks whose failure (no answer, no valid one) lets the client in; others' refuses it.",
                       "on_play"));
    rows.push_back(row(scope, "secret", &H::secret, "", none(), kLive,
                       "Signs each call: X-SRS-Signature: t=SECONDS,v1=HMAC-SHA256 of \"t.body\" by the secret.",
                       "change-me"));
    rows.push_back(row(scope, "ca_file", &H::ca_file, "", none(), kLive,
                       "Certificates (PEM) that https:// hooks are verified by; else the system's.",
                       "/etc/ssl/certs/ca-certificates.crt"));
    // It is in the hls block, as in SRS, but changing it does not change HLS output.
    const Scope hls{"vhost/hls", [](const auto& root) -> decltype(auto) { return (root.vhost->http_hooks); }};
    rows.push_back(row(hls, "hls_nb_notify", &H::hls_nb_notify, 64, bytes(0, 16 * 1024 * 1024), kLive,
                       "Most bytes read of the answer to on_hls_notify."));
}

void add_signed_urls(std::vector<Row>& rows) {
    const Scope scope{"vhost/signed_urls",
                      [](const auto& root) -> decltype(auto) { return (root.vhost->signed_urls); }};
    using S = VhostSignedUrls;
    rows.push_back(row(scope, "enabled", &S::enabled, false, none(), kLive,
                       "Publishing and playing need a URL that is signed and has not expired, see doc/hooks.md."));
    rows.push_back(row(scope, "secret", &S::secret, {}, none(), kLive,
                       "The secrets; a URL signed by any of them is good, so that they can be changed in turn.",
                       "change-me"));
    rows.push_back(row(scope, "publish", &S::publish, true, none(), kLive, "Publishing needs a signed URL."));
    rows.push_back(row(scope, "play", &S::play, true, none(), kLive, "Playing needs a signed URL."));
}

}  // namespace

void add_hook_rows(std::vector<Row>& rows) {
    add_hooks(rows);
    add_signed_urls(rows);
}

}  // namespace config

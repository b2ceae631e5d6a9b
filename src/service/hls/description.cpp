#include "service/description.h"

#include <fmt/format.h>

#include "config/path_match.h"
#include "service/hls/config.h"
#include "service/hls/dash/config.h"
#include "service/hls/playlists/segment_paths.h"
#include "service/hls/service.h"
#include "service/hls/urls.h"

namespace service::hls {
namespace {

std::vector<OutputFile> outputs(const config::Snapshot& snapshot) {
    std::vector<OutputFile> files;
    for (const config::Vhost& vhost : snapshot.vhosts) {
        const auto& hls = vhost.get<VhostConfig>();
        const auto& dash = vhost.get<DashConfig>();
        if (!vhost.enabled || hls.storage == "memory") continue;
        if (dash.enabled)
            files.push_back({fmt::format("vhost {} dash_path", vhost.name), dash.path + "/", true,
                             snapshot.location_of(vhost.name, "vhost/dash/dash_path")});
        if (!hls.enabled) continue;
        files.push_back({fmt::format("vhost {} hls_path", vhost.name), hls.path + "/", true,
                         snapshot.location_of(vhost.name, "vhost/hls/hls_path")});
        if (hls.keys && !hls.key_file_path.empty())
            files.push_back({fmt::format("vhost {} hls_key_file_path", vhost.name), hls.key_file_path + "/", true,
                             snapshot.location_of(vhost.name, "vhost/hls/hls_key_file_path")});
    }
    if (!files.empty())
        files.push_back(
            {"hls_roll", snapshot.get<ServerConfig>().hls_roll, false, snapshot.location_of("", "hls_roll")});
    return files;
}

// A disabled vhost keeps its directory: files of an earlier configuration may still be served from it.
net::FileClaims claims_of(const config::Vhost& vhost) {
    const auto& hls = vhost.get<VhostConfig>();
    if (hls.storage == "memory") return {};
    net::FileClaims claims;
    const auto& dash = vhost.get<DashConfig>();
    claims.live_root = hls.enabled || !dash.enabled ? hls.path : dash.path;
    claims.original = without_suffix;
    if (dash.enabled) {
        claims.patterns.push_back({dash.path, dash.mpd_file});
        for (const char* track : {"video", "audio", "audio[track]"})
            for (const char* file : {"-[seq].m4s", "-init.mp4"})
                claims.patterns.push_back({dash.path, dash_directory(dash) + track + file});
    }
    if (!hls.enabled) return claims;
    for (const std::string& pattern : {hls.m3u8_file, hls.ts_file, hls.fmp4_file, hls.init_file})
        claims.patterns.push_back({hls.path, pattern});
    claims.patterns.push_back({hls.key_file_path.empty() ? hls.path : hls.key_file_path,
                               hls.key_file.empty() ? "[app]/[stream]-[seq].key" : hls.key_file});
    return claims;
}

std::optional<double> fragment_of(const config::Vhost& vhost) {
    const auto& hls = vhost.get<VhostConfig>();
    return hls.enabled ? std::optional(hls.fragment) : std::nullopt;
}

std::optional<double> dash_fragment_of(const config::Vhost& vhost) {
    const auto& dash = vhost.get<DashConfig>();
    if (!dash.enabled) return std::nullopt;
    const std::optional<double> of_hls = fragment_of(vhost);
    return of_hls ? of_hls : dash.fragment;
}

bool is_dash_segment(const config::Vhost& vhost, std::string_view path) {
    const auto& dash = vhost.get<DashConfig>();
    const auto is_of = [&](const char* track) {
        return config::match_path(dash_directory(dash) + track + "-[seq].m4s", path.substr(1), vhost.name).has_value();
    };
    return dash.enabled && (is_of("video") || is_of("audio") || is_of("audio[track]"));
}

bool is_segment(const config::Vhost& vhost, std::string_view path) {
    const auto& hls = vhost.get<VhostConfig>();
    return hls.enabled && config::match_path(hls.ts_file, without_suffix(path.substr(1)), vhost.name);
}

void write_metrics(const net::AddressQuota& viewers, prometheus::Text& text) {
    text.single("srs_hls_viewers", prometheus::Type::kGauge, "HLS viewers (hls_ctx); they are not connections.",
                static_cast<double>(viewers.count()));
    write_refused(text, "srs_hls_viewers_refused_total", "HLS viewers refused by max_hls_viewers or address_limits.",
                  viewers);
}

Module make(const SharedParts& parts, const config::SnapshotPtr& snapshot) {
    parts.files.add_claims(claims_of);
    auto service = std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.events, parts.router,
                                             parts.gate, parts.files, parts.offers);
    parts.offers.segments.push_back({"hls", fragment_of, is_segment, [service = service.get()](const auto& stream) {
                                         return service->variant_of(stream);
                                     }});
    parts.offers.segments.push_back({"dash", dash_fragment_of, is_dash_segment, {}});
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(service->viewers().quota(), text); });
    parts.api_rows.add(service->clip_row(parts.identity));
    return module_of("hls", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{.name = "hls",
                                          .section = section(),
                                          .features = {"hls", "dash"},
                                          .outputs = outputs,
                                          .urls = url_part,
                                          .make = make};
    return kDescription;
}

}  // namespace service::hls

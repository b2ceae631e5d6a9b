#include "service/description.h"

#include <fmt/format.h>

#include "config/path_match.h"
#include "service/hls/config.h"
#include "service/hls/playlists/segment_paths.h"
#include "service/hls/service.h"

namespace service::hls {
namespace {

std::vector<OutputFile> outputs(const config::Snapshot& snapshot) {
    std::vector<OutputFile> files;
    for (const config::Vhost& vhost : snapshot.vhosts) {
        const auto& hls = vhost.get<VhostConfig>();
        if (!vhost.enabled || !hls.enabled || hls.storage == "memory") continue;
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
    claims.live_root = hls.path;
    claims.original = without_suffix;
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
    parts.offers.segments.push_back({"hls", fragment_of, is_segment});
    auto service = std::make_shared<Service>(snapshot, parts.sessions, parts.registry, parts.events, parts.router,
                                             parts.gate, parts.files, parts.offers);
    parts.offers.metrics.push_back(
        [service = service.get()](prometheus::Text& text) { write_metrics(service->viewers().quota(), text); });
    parts.api_rows.add(service->clip_row(parts.identity));
    return module_of("hls", std::move(service));
}

}  // namespace

const Description& describe() {
    static const Description kDescription{
        .name = "hls", .section = section(), .features = {"hls"}, .outputs = outputs, .make = make};
    return kDescription;
}

}  // namespace service::hls

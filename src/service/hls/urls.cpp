#include "service/hls/urls.h"

#include <fmt/format.h>

#include "config/path_variables.h"
#include "protocol/ts/program.h"
#include "service/hls/config.h"
#include "service/hls/dash/config.h"
#include "service/hls/playlists/segment_paths.h"

namespace service::hls {
namespace {

bool is_hls(const url::Target& target) { return target.extension == ".m3u8"; }

std::string url_name(const url::Target& target) { return is_hls(target) ? "HLS" : "DASH"; }

// Below the directory of HLS: the pattern of playlists, or of manifests.
std::string pattern_of(const url::Target& target, const config::Vhost& vhost) {
    return is_hls(target) ? vhost.get<VhostConfig>().m3u8_file : vhost.get<DashConfig>().mpd_file;
}

bool find_stream(url::Target& target, const config::Vhost& vhost, const std::string& path) {
    VhostConfig hls = vhost.get<VhostConfig>();
    hls.m3u8_file = pattern_of(target, vhost);
    auto found = stream_of_playlist(hls, vhost.name, without_suffix(path_below(vhost, path)));
    if (!found) return false;
    target.app = std::move(found->app);
    target.stream = std::move(found->name);
    return true;
}

std::string path_of(const url::Target& target, const config::Vhost& vhost) {
    config::PathVariables names;
    names.set("vhost", vhost.name).set("app", target.app).set("stream", target.stream);
    return "/" + names.expand(pattern_of(target, vhost));
}

// The page that plays parts of segments gets whole ones where there are no parts.
void check_low_latency_page(const url::Facts& facts, const config::Vhost& vhost, url::Findings& findings) {
    const auto& hls = vhost.get<VhostConfig>();
    if (!url_part()->has(facts.target) || !facts.target.wants_low_latency || hls.has_parts()) return;
    const bool is_encrypted = hls.low_latency;
    url::Finding finding = missing(
        facts, "latency",
        is_encrypted ? std::string("LL-HLS has no parts of encrypted segments: players get whole ones (hls_keys)")
                     : fmt::format("LL-HLS is off: players get whole segments of {} s", hls.fragment),
        vhost.name, is_encrypted ? "vhost/hls/hls_keys" : "vhost/hls/hls_low_latency", is_encrypted ? "off" : "on");
    finding.verdict = url::Verdict::kWarn;
    findings.push_back(std::move(finding));
}

// Apple's players take it in fMP4 alone (HLS Authoring Specification, 1.5).
void add_hevc_in_ts(const url::Facts& facts, const config::Vhost& vhost, url::Findings& findings) {
    url::Finding finding = missing(facts, "codecs", "the video is HEVC, which many players take in fMP4 segments alone",
                                   vhost.name, "vhost/hls/hls_use_fmp4", "on");
    finding.verdict = url::Verdict::kWarn;
    findings.push_back(std::move(finding));
}

void check_stream_of_url(const url::Facts& facts, const config::Vhost& vhost, const url::PublishedStream& stream,
                         url::Findings& findings) {
    if (!url_part()->has(facts.target) || !is_hls(facts.target) || vhost.get<VhostConfig>().use_fmp4) return;
    for (const auto* codecs : {&stream.video, &stream.audio}) {
        for (const media::Codec codec : *codecs) {
            if (codec == media::Codec::kHevc) add_hevc_in_ts(facts, vhost, findings);
            if (ts::carries(codec)) continue;
            findings.push_back(missing(
                facts, "codecs", fmt::format("segments of MPEG-TS do not carry {}", media::codec_info(codec).name),
                vhost.name, "vhost/hls/hls_use_fmp4", "on"));
            return;
        }
    }
}

}  // namespace

const url::Part* url_part() {
    static const url::Part kPart{.protocols = {{.name = url_name,
                                                .vhost_switch = "vhost/hls/enabled",
                                                .plain = url::kHttp,
                                                .tls = url::kHttps,
                                                .extensions = {".m3u8"},
                                                .find_stream = find_stream,
                                                .path_of = path_of,
                                                .path_directive = "vhost/hls/hls_m3u8_file"},
                                               {.name = url_name,
                                                .vhost_switch = "vhost/dash/enabled",
                                                .plain = url::kHttp,
                                                .tls = url::kHttps,
                                                .extensions = {".mpd"},
                                                .find_stream = find_stream,
                                                .path_of = path_of,
                                                .path_directive = "vhost/dash/dash_mpd_file"}},
                                 .check_client = check_low_latency_page,
                                 .check_stream = check_stream_of_url};
    return &kPart;
}

}  // namespace service::hls

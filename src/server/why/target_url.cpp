// The URL of a target, and its name.

#include <fmt/format.h>

#include <algorithm>

#include "config/path_variables.h"
#include "protocol/http/url.h"
#include "protocol/rtmp/url.h"
#include "protocol/srt/url.h"
#include "server/why/target.h"
#include "service/hls/config.h"
#include "service/hls/dash/config.h"
#include "service/http_live/config.h"

namespace server::why {
namespace {

std::string in_brackets(const std::string& host) { return host.find(':') == host.npos ? host : "[" + host + "]"; }

// With the port where it is not the scheme's.
std::string authority_of(const Target& target, uint16_t usual) {
    const std::string host = in_brackets(target.host);
    return target.port == usual ? host : fmt::format("{}:{}", host, target.port);
}

std::string mounted_path(const Target& target, const config::Vhost* vhost) {
    if (!vhost) return fmt::format("/{}/{}{}", target.app, target.stream, target.extension);
    std::string pattern;
    switch (target.protocol) {
        case Protocol::kHls:
            pattern = "/" + vhost->get<service::hls::VhostConfig>().m3u8_file;
            break;
        case Protocol::kDash:
            pattern = "/" + vhost->get<service::hls::DashConfig>().mpd_file;
            break;
        default: {
            pattern = vhost->get<service::http_live::VhostConfig>().mount;
            pattern.erase(0, std::min(pattern.find('/'), pattern.size()));
            if (const size_t dot = pattern.rfind('.'); dot != pattern.npos) pattern.erase(dot);
            pattern += target.extension;
        }
    }
    config::PathVariables names;
    names.set("vhost", vhost->name).set("app", target.app).set("stream", target.stream);
    return names.expand(pattern);
}

std::string srt_url(const Target& target, bool names_vhost) {
    const auto mode = target.action == net::Action::kPublish ? srt::StreamMode::kPublish : srt::StreamMode::kRequest;
    const auto id = srt::make_stream_id(mode, {names_vhost ? target.vhost : "", target.app, target.stream}, "");
    return id ? fmt::format("srt://{}?streamid={}", authority_of(target, 0), http::percent_encode(*id, "/#!:=,")) : "";
}

std::string made_url(const Target& target, const config::Snapshot& snapshot) {
    const config::Vhost* vhost = snapshot.vhost(target.vhost);
    // The vhost of a URL is its host, but for SRT's.
    const bool names_vhost =
        !target.vhost.empty() && target.vhost != target.host && target.vhost != config::kDefaultVhost;
    const std::string query = names_vhost ? "vhost=" + http::percent_encode(target.vhost, "") : "";
    const std::string asked = query.empty() ? "" : "?" + query;
    switch (target.protocol) {
        case Protocol::kRtmp:
            return fmt::format("{}://{}/{}/{}{}", target.tls ? "rtmps" : "rtmp",
                               authority_of(target, target.tls ? 443 : ::rtmp::kDefaultPort), target.app, target.stream,
                               asked);
        case Protocol::kRtsp:
            return fmt::format("{}://{}/{}/{}{}", target.tls ? "rtsps" : "rtsp",
                               authority_of(target, target.tls ? 322 : 554), target.app, target.stream, asked);
        case Protocol::kSrt:
            return srt_url(target, names_vhost);
        case Protocol::kWebrtc:
            return fmt::format(
                "{}://{}/rtc/v1/{}/?app={}&stream={}{}{}", target.tls ? "https" : "http",
                authority_of(target, target.tls ? 443 : 80), target.action == net::Action::kPublish ? "whip" : "whep",
                http::percent_encode(target.app), http::percent_encode(target.stream), query.empty() ? "" : "&", query);
        default:
            break;
    }
    std::string scheme = target.is_websocket ? "ws" : "http";
    if (target.tls) scheme += "s";
    return fmt::format("{}://{}{}{}", scheme, authority_of(target, target.tls ? 443 : 80),
                       http::percent_encode(mounted_path(target, vhost)), asked);
}

}  // namespace

std::string name_of(const Target& target) {
    const auto with_s = [&](const char* name) { return std::string(name) + (target.tls ? "S" : ""); };
    switch (target.protocol) {
        case Protocol::kRtmp:
            return with_s("RTMP");
        case Protocol::kRtsp:
            return with_s("RTSP");
        case Protocol::kSrt:
            return "SRT";
        case Protocol::kWebrtc:
            return "WebRTC";
        case Protocol::kHls:
            return "HLS";
        case Protocol::kDash:
            return "DASH";
        case Protocol::kHttpLive:
            break;
    }
    std::string format = target.extension.substr(std::min<size_t>(1, target.extension.size()));
    std::ranges::transform(format, format.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return (target.is_websocket ? "WebSocket-" : "HTTP-") + format;
}

std::string url_of(const Target& target, const config::Snapshot& snapshot) {
    std::string url = made_url(target, snapshot);
    const auto read = resolve(url, target.action == net::Action::kPublish, snapshot);
    const bool is_same = read && read->is_mounted && read->protocol == target.protocol &&
                         read->action == target.action && read->app == target.app && read->stream == target.stream &&
                         snapshot.vhost(read->vhost) == snapshot.vhost(target.vhost);
    return is_same ? url : std::string();
}

}  // namespace server::why

#include "server/why/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/authority.h"
#include "base/stream_name.h"
#include "net/http/http_visitor.h"
#include "protocol/rtmp/url.h"
#include "protocol/srt/url.h"
#include "service/hls/config.h"
#include "service/hls/dash/config.h"
#include "service/hls/playlists/segment_paths.h"
#include "service/http_live/config.h"
#include "service/http_live/mount.h"
#include "service/rtc/requests/offer_request.h"
#include "service/rtsp/address.h"
#include "service/srt/config.h"

namespace server::why {
namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr std::string_view kLiveExtensions[] = {".flv", ".ts", ".aac", ".mp3"};

net::Action action_of(bool publishes) { return publishes ? net::Action::kPublish : net::Action::kPlay; }

void take_address(Target& target, ::rtmp::StreamAddress address) {
    target.vhost = std::move(address.vhost);
    target.app = std::move(address.app);
    target.stream = std::move(address.stream);
    target.param = std::move(address.params);
}

Result<void> need_stream(const Target& target) {
    if (!target.stream.empty()) return {};
    return fail(Code::kProtocol, "the URL names no stream: SCHEME://HOST/APP/STREAM");
}

Result<Target> resolve_rtmp(std::string_view text, bool publishes) {
    const auto url = TRY(::rtmp::parse_url(text));
    Target target{.protocol = Protocol::kRtmp, .tls = url.tls, .action = action_of(publishes)};
    target.host = url.host;
    target.port = url.port;
    if (url.stream.empty())
        return fail(Code::kProtocol, "the URL names no stream: behind the app there is none, rtmp://HOST/APP/STREAM");
    take_address(target, TRY(::rtmp::resolve_stream(url.tc_url(), url.app, url.stream)));
    TRY(need_stream(target));
    return target;
}

// webrtc://HOST[:PORT]/APP/STREAM, whose port is that of the API.
Result<Target> resolve_webrtc(std::string_view text, bool publishes) {
    const auto url = TRY(::rtmp::parse_any_url(text));
    Target target{.protocol = Protocol::kWebrtc, .action = action_of(publishes)};
    target.host = url.host;
    const std::string_view rest = text.substr(text.find("://") + 3);
    const auto authority = TRY(base::split_authority(rest.substr(0, rest.find_first_of("/?"))));
    if (url.stream.empty()) return fail(Code::kProtocol, "the URL names no stream: webrtc://HOST/APP/STREAM");
    take_address(target, TRY(::rtmp::resolve_stream(url.tc_url(), "", url.stream)));
    TRY(need_stream(target));
    const auto parameters = http::parse_query(std::string_view(target.param).substr(target.param.empty() ? 0 : 1));
    target.tls = http::find_parameter(parameters, "schema").value_or("") == "https";
    target.port = authority.port.value_or(target.tls ? 443 : 1985);
    target.eip = http::find_parameter(parameters, "eip").value_or("");
    return target;
}

Result<Target> resolve_rtsp(std::string_view text, bool tls, bool publishes) {
    const auto split = service::rtsp::split_track(text);
    Target target{.protocol = Protocol::kRtsp, .tls = tls, .action = action_of(publishes)};
    const std::string_view rest = text.substr(text.find("://") + 3);
    const auto authority = TRY(base::split_authority(rest.substr(0, rest.find_first_of("/?"))));
    target.host = authority.host;
    target.port = authority.port.value_or(tls ? 322 : 554);
    const size_t colon = authority.user.find(':');
    target.user = authority.user.substr(0, colon);
    if (colon != authority.user.npos) target.password = authority.user.substr(colon + 1);
    take_address(target, TRY(service::rtsp::resolve(split.base)));
    TRY(need_stream(target));
    return target;
}

Result<Target> resolve_srt(std::string_view text, bool publishes, const config::Snapshot& snapshot) {
    auto url = TRY(srt::parse_url(text));
    const auto& server = snapshot.get<service::srt::ServerConfig>();
    const std::string& id = url.stream_id.empty() ? server.default_streamid : url.stream_id;
    const bool publishes_names = publishes || server.default_mode == "publish";
    auto parsed =
        srt::parse_stream_id(id, {.app = server.default_app,
                                  .mode = publishes_names ? srt::StreamMode::kPublish : srt::StreamMode::kRequest,
                                  .stream_id = server.default_streamid});
    if (!parsed) return fail(Code::kProtocol, "the stream id: " + parsed.error().text);
    Target target{.protocol = Protocol::kSrt, .action = action_of(parsed->mode == srt::StreamMode::kPublish)};
    target.host = std::move(url.host);
    target.port = url.port;
    target.vhost = parsed->vhost.empty() ? std::string(config::kDefaultVhost) : std::move(parsed->vhost);
    target.app = std::move(parsed->app);
    target.stream = std::move(parsed->stream);
    if (!parsed->params.empty()) target.param = "?" + parsed->params;
    target.passphrase = std::move(url.passphrase);
    return target;
}

// ---- HTTP

Result<net::HttpRequest> request_of(const http::AbsoluteUrl& url) {
    net::HttpRequest request;
    http::Request& message = request.message;
    const auto target = TRY(http::split_target(url.target));
    message.target = url.target;
    message.raw_path = target.path;
    message.path = TRY(http::safe_path(target.path));
    message.raw_query = target.query;
    message.parameters = http::parse_query(target.query);
    message.host = url.host;
    message.port = url.port;
    request.tls = url.tls;
    return request;
}

bool begins_with_level(std::string_view path, std::string_view level) {
    return path.starts_with(level) && (path.size() == level.size() || path[level.size()] == '/');
}

Result<Target> resolve_whip(const net::HttpRequest& request, bool publishes) {
    Target target{.protocol = Protocol::kWebrtc, .action = action_of(publishes)};
    auto offer = TRY(service::rtc::read_whip(request, false));
    target.vhost = std::move(offer.vhost);
    target.app = std::move(offer.app);
    target.stream = std::move(offer.stream);
    target.param = std::move(offer.param);
    target.eip = std::move(offer.eip);
    return target;
}

// "/live/a/cam.flv": the names that a path in the usual form has.
void take_names(Target& target, std::string_view path, std::string_view extension) {
    path.remove_prefix(std::min<size_t>(1, path.size()));
    path.remove_suffix(std::min(extension.size(), path.size()));
    const size_t slash = path.rfind('/');
    target.app = slash == path.npos ? std::string_view() : path.substr(0, slash);
    target.stream = slash == path.npos ? path : path.substr(slash + 1);
}

bool take_mount(Target& target, const config::Vhost& vhost, const std::string& path) {
    const service::http_live::Mount mount(vhost.get<service::http_live::VhostConfig>().mount);
    if (!mount.host().empty() && mount.host() != target.vhost) return false;
    auto match = mount.match(path);
    if (!match) return false;
    target.app = std::move(match->app);
    target.stream = std::move(match->stream);
    return true;
}

// The playlist of HLS, or the manifest of DASH, whether the vhost has it switched on or not.
bool take_playlist(Target& target, const config::Vhost& vhost, const std::string& path) {
    service::hls::VhostConfig hls = vhost.get<service::hls::VhostConfig>();
    if (target.protocol == Protocol::kDash) hls.m3u8_file = vhost.get<service::hls::DashConfig>().mpd_file;
    const std::string below = service::hls::path_below(vhost, path);
    auto found = service::hls::stream_of_playlist(hls, vhost.name, service::hls::without_suffix(below));
    if (!found) return false;
    target.app = std::move(found->app);
    target.stream = std::move(found->name);
    return true;
}

Result<Target> resolve_file(const net::HttpRequest& request, const config::Snapshot& snapshot) {
    const std::string& path = request.message.path;
    Target target;
    const auto ends = [&](std::string_view extension) { return path.ends_with(extension); };
    const auto live = std::ranges::find_if(kLiveExtensions, ends);
    if (live != std::end(kLiveExtensions)) {
        target.protocol = Protocol::kHttpLive;
        target.extension = *live;
    } else if (ends(".m3u8") || ends(".mpd")) {
        target.protocol = ends(".mpd") ? Protocol::kDash : Protocol::kHls;
        target.extension = ends(".mpd") ? ".mpd" : ".m3u8";
    } else {
        return fail(Code::kProtocol,
                    "the URL names no stream: streams by HTTP end in .flv, .ts, .aac, .mp3, .m3u8 or .mpd, those by "
                    "WebRTC are at /rtc/v1/whep/?app=&stream=");
    }
    target.vhost = net::vhost_name(request.message);
    if (!request.message.raw_query.empty()) target.param = "?" + request.message.raw_query;
    take_names(target, path, target.extension);
    if (const config::Vhost* vhost = snapshot.vhost(target.vhost))
        target.is_mounted = target.protocol == Protocol::kHttpLive ? take_mount(target, *vhost, path)
                                                                   : take_playlist(target, *vhost, path);
    TRY(base::check_name("stream name", target.stream));
    return target;
}

Result<Target> resolve_page(const net::HttpRequest& request, const config::Snapshot& snapshot);

Result<Target> resolve_http(std::string_view text, const config::Snapshot& snapshot, bool is_websocket) {
    const std::string address = (is_websocket ? "http" : "") + std::string(text.substr(is_websocket ? 2 : 0));
    const auto url = TRY(http::parse_absolute_url(address));
    const auto request = TRY(request_of(url));
    const std::string& path = request.message.path;
    const auto is_at = [&](std::string_view level) { return begins_with_level(path, level); };
    if (is_at("/rtc/v1/publish") || is_at("/rtc/v1/play"))
        return fail(Code::kProtocol,
                    "the URL of the JSON API names no stream: give the streamurl, webrtc://HOST/APP/STREAM");
    Target target;
    if (is_at("/rtc/v1/whip"))
        target = TRY(resolve_whip(request, true));
    else if (is_at("/rtc/v1/whep") || is_at("/rtc/v1/whip-play"))
        target = TRY(resolve_whip(request, false));
    else if (is_at("/players"))
        target = TRY(resolve_page(request, snapshot));
    else
        target = TRY(resolve_file(request, snapshot));
    if (!target.host.empty()) return target;  // a page's, which has the stream of another address
    target.is_websocket = is_websocket;
    target.host = url.host;
    target.port = url.port;
    target.tls = url.tls;
    return target;
}

// The stream of a page of src/web/players, or of a plain page of WebRTC.
Result<Target> resolve_page(const net::HttpRequest& request, const config::Snapshot& snapshot) {
    const http::Request& message = request.message;
    const auto finish = [](Result<Target> target) {
        if (target) target->is_page = true;
        return target;
    };
    std::string_view protocol = message.parameter("protocol");
    if (message.path.ends_with("/whip.html")) protocol = "whip";
    if (message.path.ends_with("/whep.html")) protocol = "whep";
    const std::string_view url = message.parameter("url");
    if (!url.empty()) {
        if (url.find("/players") != url.npos) return fail(Code::kProtocol, "the page's url is that of a page itself");
        return finish(resolve(url, protocol == "whip", snapshot));
    }
    if (protocol == "whip" || protocol == "whep") return finish(resolve_whip(request, protocol == "whip"));
    const auto or_else = [](std::string_view value, std::string_view other) { return value.empty() ? other : value; };
    net::HttpRequest played = request;
    const std::string_view extension = protocol == "hls" || protocol == "ll-hls" ? "m3u8"
                                       : protocol == "dash"                      ? "mpd"
                                                                                 : "flv";
    played.message.path =
        TRY(http::safe_path(fmt::format("/{}/{}.{}", or_else(message.parameter("app"), "live"),
                                        or_else(message.parameter("stream"), "livestream"), extension)));
    auto target = finish(resolve_file(played, snapshot));
    if (target) target->param.clear();
    return target;
}

}  // namespace

Result<Target> resolve(std::string_view url, bool publishes, const config::Snapshot& snapshot) {
    if (url.size() > kMaxUrl) return fail(Code::kProtocol, fmt::format("a URL has at most {} bytes", kMaxUrl));
    if (std::ranges::any_of(url, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }))
        return fail(Code::kProtocol, "a URL has no spaces and no control characters");
    const size_t scheme_end = url.find("://");
    const std::string scheme = base::lower(url.substr(0, scheme_end == url.npos ? 0 : scheme_end));
    if (scheme.empty()) return fail(Code::kProtocol, "this is no URL: it begins with no scheme, such as rtmp://");
    const std::string text = scheme + std::string(url.substr(scheme_end));
    if (scheme == "rtmp" || scheme == "rtmps") return resolve_rtmp(text, publishes);
    if (scheme == "webrtc") return resolve_webrtc(text, publishes);
    if (scheme == "rtsp" || scheme == "rtsps") return resolve_rtsp(text, scheme == "rtsps", publishes);
    if (scheme == "srt") return resolve_srt(text, publishes, snapshot);
    if (scheme == "http" || scheme == "https") return resolve_http(text, snapshot, false);
    if (scheme == "ws" || scheme == "wss") return resolve_http(text, snapshot, true);
    return fail(Code::kProtocol,
                "streams are at rtmp, rtmps, http, https, ws, wss, webrtc, rtsp, rtsps and srt, not at another scheme");
}

}  // namespace server::why

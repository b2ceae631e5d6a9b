#include "server/why/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/stream_name.h"
#include "net/http/http_visitor.h"
#include "protocol/http/url.h"
#include "server/why/protocols.h"
#include "service/url/names.h"

namespace server::why {
namespace {

using base::Code;
using base::fail;
using base::Result;

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

// "/live/a/cam.flv": the names that a path in the usual form has.
void take_names(Target& target, std::string_view path) {
    path.remove_prefix(std::min<size_t>(1, path.size()));
    path.remove_suffix(std::min(target.extension.size(), path.size()));
    const size_t slash = path.rfind('/');
    target.app = slash == path.npos ? std::string_view() : path.substr(0, slash);
    target.stream = slash == path.npos ? path : path.substr(slash + 1);
}

Result<Target> fail_left_out(std::string_view name) {
    return fail(Code::kNotFound, fmt::format("this build has no {}", name));
}

// Whatever the protocol's own code of an error is, the URL is wrong.
Result<Target> read_by(const Protocol& protocol, Result<Target> target) {
    if (!target) return fail(Code::kProtocol, target.error().text());
    target->protocol = &protocol;
    return target;
}

Result<Target> resolve_file(const net::HttpRequest& request, const config::Snapshot& snapshot) {
    const std::string& path = request.message.path;
    const Protocol* protocol = protocol_of_file(path);
    if (!protocol) {
        if (const auto name = left_out("", path); !name.empty()) return fail_left_out(name);
        return fail(Code::kProtocol,
                    "the URL names no stream: streams by HTTP end in .flv, .ts, .aac, .mp3, .m3u8 or .mpd, those by "
                    "WebRTC are at /rtc/v1/whep/?app=&stream=");
    }
    Target target{.protocol = protocol};
    target.extension = extension_of(*protocol, path);
    target.vhost = net::vhost_name(request.message);
    if (!request.message.raw_query.empty()) target.param = "?" + request.message.raw_query;
    take_names(target, path);
    if (const config::Vhost* vhost = snapshot.vhost(target.vhost))
        target.is_mounted = protocol->find_stream(target, *vhost, path);
    TRY(base::check_name("stream name", target.stream));
    return target;
}

// The path of WHIP or another call: of the service that has such paths.
Result<Target> resolve_request(const net::HttpRequest& request) {
    const Protocol* protocol = protocol_of_path(request.message.path);
    if (!protocol) return fail_left_out(left_out("", request.message.path));
    return read_by(*protocol, protocol->read_request(request));
}

Result<Target> resolve_page(const net::HttpRequest& request, const config::Snapshot& snapshot);

Result<Target> resolve_http(std::string_view text, const config::Snapshot& snapshot, bool is_websocket) {
    const std::string address = (is_websocket ? "http" : "") + std::string(text.substr(is_websocket ? 2 : 0));
    const auto url = TRY(http::parse_absolute_url(address));
    const auto request = TRY(request_of(url));
    const std::string& path = request.message.path;
    const bool is_page = path == "/players" || path.starts_with("/players/");
    const bool is_call = path.starts_with("/rtc/v1/");
    Target target = is_page   ? TRY(resolve_page(request, snapshot))
                    : is_call ? TRY(resolve_request(request))
                              : TRY(resolve_file(request, snapshot));
    if (!target.host.empty()) return target;  // a page's, which has the stream of another address
    target.is_websocket = is_websocket;
    target.host = url.host;
    target.port = url.port;
    target.tls = url.tls;
    return target;
}

std::string_view protocol_of_page(const http::Request& message) {
    if (message.path.ends_with("/whip.html")) return "whip";
    if (message.path.ends_with("/whep.html")) return "whep";
    return message.parameter("protocol");
}

// The stream of a page of src/web/players, or of a plain page of WebRTC.
Result<Target> resolve_stream_of_page(const net::HttpRequest& request, const config::Snapshot& snapshot) {
    const http::Request& message = request.message;
    const std::string_view protocol = protocol_of_page(message);
    const std::string_view url = message.parameter("url");
    if (!url.empty()) {
        if (url.find("/players") != url.npos) return fail(Code::kProtocol, "the page's url is that of a page itself");
        return resolve(url, protocol == "whip", snapshot);
    }
    net::HttpRequest played = request;
    if (protocol == "whip" || protocol == "whep") {
        played.message.path = fmt::format("/rtc/v1/{}/", protocol);
        return resolve_request(played);
    }
    const auto or_else = [](std::string_view value, std::string_view other) { return value.empty() ? other : value; };
    const std::string_view extension = protocol == "hls" || protocol == "ll-hls" ? "m3u8"
                                       : protocol == "dash"                      ? "mpd"
                                                                                 : "flv";
    played.message.path =
        TRY(http::safe_path(fmt::format("/{}/{}.{}", or_else(message.parameter("app"), "live"),
                                        or_else(message.parameter("stream"), "livestream"), extension)));
    Target target = TRY(resolve_file(played, snapshot));
    target.param.clear();
    return target;
}

Result<Target> resolve_page(const net::HttpRequest& request, const config::Snapshot& snapshot) {
    Target target = TRY(resolve_stream_of_page(request, snapshot));
    target.is_page = true;
    target.wants_low_latency = protocol_of_page(request.message) == "ll-hls";
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
    if (scheme == "http" || scheme == "https") return resolve_http(text, snapshot, false);
    if (scheme == "ws" || scheme == "wss") return resolve_http(text, snapshot, true);
    if (const Protocol* protocol = protocol_of_scheme(scheme))
        return read_by(*protocol, protocol->read(text, publishes, snapshot));
    if (const auto name = left_out(scheme, ""); !name.empty()) return fail_left_out(name);
    return fail(Code::kProtocol,
                "streams are at rtmp, rtmps, http, https, ws, wss, webrtc, rtsp, rtsps and srt, not at another scheme");
}

// ---- Writing

namespace {

std::string file_url(const Target& target, const config::Vhost* vhost, std::string_view query) {
    const std::string path = vhost ? target.protocol->path_of(target, *vhost)
                                   : fmt::format("/{}/{}{}", target.app, target.stream, target.extension);
    return fmt::format("{}{}://{}{}{}{}", target.is_websocket ? "ws" : "http", target.tls ? "s" : "",
                       service::url::authority_of(target, target.tls ? 443 : 80), http::percent_encode(path),
                       query.empty() ? "" : "?", query);
}

}  // namespace

std::string name_of(const Target& target) { return target.protocol->name(target); }

std::string url_of(const Target& target, const config::Snapshot& snapshot) {
    const config::Vhost* vhost = snapshot.vhost(target.vhost);
    // The vhost of a URL is its host, unless it names another one.
    const bool names_vhost =
        !target.vhost.empty() && target.vhost != target.host && target.vhost != config::kDefaultVhost;
    const std::string query = names_vhost ? "vhost=" + http::percent_encode(target.vhost, "") : "";
    std::string url = target.protocol->write ? target.protocol->write(target, query) : file_url(target, vhost, query);
    const auto read = resolve(url, target.action == net::Action::kPublish, snapshot);
    const bool is_same = read && read->is_mounted && read->protocol == target.protocol &&
                         read->action == target.action && read->app == target.app && read->stream == target.stream &&
                         snapshot.vhost(read->vhost) == vhost;
    return is_same ? url : std::string();
}

}  // namespace server::why

#include "service/forward/target.h"

#include <array>

#include "config/path_variables.h"
#include "config/snapshot.h"
#include "protocol/http/url.h"
#include "protocol/rtsp/url.h"
#include "service/forward/destination.h"
#include "service/relay/srt_address.h"

namespace service::forward {

using base::Result;

namespace {

constexpr std::array<std::string_view, 2> kVhostParameters = {"vhost", "domain"};

// A publisher's parameters select no other vhost there.
std::string own_path(const live::StreamKey& key, std::string_view params) {
    std::string path = key.app + "/" + key.name;
    if (params.starts_with('?')) params.remove_prefix(1);
    const std::string kept = http::without_parameters(params, kVhostParameters);
    if (!kept.empty()) path += "?" + kept;
    if (key.vhost != config::kDefaultVhost) path += (kept.empty() ? "?vhost=" : "&vhost=") + key.vhost;
    return path;
}

Result<Target> srt_target(const Destination& destination, const live::StreamKey& key, std::string_view params,
                          std::string_view path) {
    Target target;
    target.shown = "srt://" + destination.authority;
    target.text = TRY(relay::srt_url({.authority = destination.authority,
                                      .parameters = destination.parameters,
                                      .mode = ::srt::StreamMode::kPublish,
                                      .stream = key,
                                      .vhost = key.vhost,
                                      .params = params,
                                      .path = path}));
    return target;
}

// All streams have the same address: it says nothing of them.
Result<Target> udp_target(const Destination& destination) {
    Target target;
    target.shown = destination.scheme + "://" + destination.authority;
    target.text = target.shown + (destination.parameters.empty() ? "" : "?" + destination.parameters);
    target.udp = TRY(parse_udp_target(target.text));
    return target;
}

}  // namespace

Result<Target> make_target(std::string_view destination, const live::StreamKey& key, std::string_view params,
                           std::string_view path) {
    auto parsed = TRY(parse_destination(destination));
    if (parsed.is_srt()) return srt_target(parsed, key, params, path);
    if (parsed.is_udp()) return udp_target(parsed);
    Target target;
    const std::string scheme = parsed.scheme + "://", server = scheme + parsed.authority + "/";
    target.text = scheme + parsed.credentials + parsed.authority + "/";
    if (parsed.path.empty()) {
        target.text += own_path(key, params);
        target.shown = server + key.app + "/" + key.name;
    } else {
        config::PathVariables variables;
        variables.set("vhost", key.vhost).set("app", key.app).set("stream", key.name);
        const std::string path = variables.expand(parsed.path);
        target.text += path;
        const std::string_view names = std::string_view(path).substr(0, path.find('?'));
        const size_t app = names.rfind('/');
        target.shown = server + (app == names.npos ? "" : path.substr(0, app) + "/") + "...";
    }
    if (parsed.is_rtsp()) {
        TRY(::rtsp::parse_url(target.text));
    } else {
        target.rtmp = relay::Target{.scheme = parsed.scheme == "rtmps" ? relay::Scheme::kRtmps : relay::Scheme::kRtmp,
                                    .url = target.text,
                                    .shown = target.shown};
        TRY(relay::check(*target.rtmp));
    }
    return target;
}

}  // namespace service::forward

#include "service/rtc/requests/offer_request.h"

#include <fmt/format.h>

#include <charconv>

#include "base/json.h"
#include "net/http/http_visitor.h"
#include "protocol/rtmp/url.h"

namespace service::rtc {
namespace {

using base::Code;
using base::fail;
using base::Result;
using http::equal_ignoring_case;

constexpr size_t kMaxRid = 16;  // of those that are negotiated

struct CodecName {
    std::string_view name;
    std::string_view ours;
};
constexpr CodecName kVideo[] = {{"h264", "h264"}, {"avc", "h264"}, {"h265", "hevc"}, {"hevc", "hevc"},
                                {"av1", "av1"},   {"vp8", "vp8"},  {"vp9", "vp9"}};
constexpr CodecName kAudio[] = {
    {"opus", "opus"}, {"pcmu", "pcmu"}, {"g711u", "pcmu"}, {"pcma", "pcma"}, {"g711a", "pcma"}};

Result<std::string> read_codec(std::string_view what, std::string_view value, std::span<const CodecName> known) {
    if (value.empty()) return std::string();
    for (const CodecName& codec : known)
        if (equal_ignoring_case(codec.name, value)) return std::string(codec.ours);
    return fail(Code::kProtocol, fmt::format("{}: '{}' is no codec that can be asked for", what, value.substr(0, 40)));
}

Result<void> read_wishes(OfferRequest& offer, const http::Parameters& parameters) {
    auto value = [&](std::string_view name) { return http::find_parameter(parameters, name).value_or(""); };
    offer.eip = value("eip");
    const bool has_vcodec = !value("vcodec").empty();
    offer.vcodec = TRY(read_codec(has_vcodec ? "vcodec" : "codec", value(has_vcodec ? "vcodec" : "codec"), kVideo));
    offer.acodec = TRY(read_codec("acodec", value("acodec"), kAudio));
    offer.layer.rid = value("layer");
    if (offer.layer.rid.size() > kMaxRid) return fail(Code::kProtocol, "layer: no rid is that long");
    const std::string_view height = value("maxheight");
    if (height.empty()) return {};
    const auto [end, error] = std::from_chars(height.data(), height.data() + height.size(), offer.layer.max_height);
    if (error != std::errc() || end != height.data() + height.size() || offer.layer.max_height <= 0)
        return fail(Code::kProtocol, fmt::format("maxheight: '{}' is no height in pixels", height.substr(0, 40)));
    return {};
}

// A token "expires=...&sign=..." holds the parameters of a signed URL; any other token is one parameter. Parameters in
// the URL itself come first and take precedence.
void add_token(OfferRequest& offer, const http::Request& message) {
    const std::string_view token = bearer_token(message);
    if (token.empty()) return;
    const bool is_signature = token.starts_with("expires=") && token.find("&sign=") != token.npos;
    const std::string_view query = std::string_view(offer.param).substr(offer.param.empty() ? 0 : 1);
    if (!is_signature && http::find_parameter(http::parse_query(query), "token")) return;
    offer.param += offer.param.empty() ? "?" : "&";
    offer.param += is_signature ? std::string(token) : "token=" + http::percent_encode(token, "");
}

}  // namespace

bool has_content_type(const http::Request& request, std::string_view type) {
    const std::string_view field = request.headers.get("Content-Type");
    return equal_ignoring_case(http::trim(field.substr(0, field.find(';'))), type);
}

std::string_view bearer_token(const http::Request& request) {
    const std::string_view field = request.headers.get("Authorization");
    const size_t space = field.find(' ');
    if (space == field.npos || !equal_ignoring_case(field.substr(0, space), "Bearer")) return {};
    return http::trim(field.substr(space));
}

Result<OfferRequest> read_whip(const net::HttpRequest& request, bool takes_token) {
    const http::Request& message = request.message;
    OfferRequest offer;
    const auto name_of = [&](const char* parameter, std::string_view initial) {
        const std::string_view given = message.parameter(parameter);
        return given.empty() ? initial : given;
    };
    auto address = TRY(
        rtmp::resolve_stream("", name_of("app", "live"), name_of("stream", "livestream"), net::vhost_name(message)));
    offer.vhost = std::move(address.vhost);
    offer.app = std::move(address.app);
    offer.stream = std::move(address.stream);
    if (!message.raw_query.empty()) offer.param = "?" + message.raw_query;
    offer.tc_url = fmt::format("rtmp://{}/{}", offer.vhost, offer.app);
    offer.sdp = message.body;
    TRY(read_wishes(offer, message.parameters));
    if (takes_token) add_token(offer, message);
    return offer;
}

Result<OfferRequest> read_json(const net::HttpRequest& request, bool takes_token) {
    const auto body = base::parse_json(request.message.body);
    if (!body.is_object()) return fail(Code::kProtocol, "the body is no JSON object");
    auto text = [&](const char* name) {
        const auto found = body.find(name);
        return found != body.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    OfferRequest offer;
    offer.sdp = text("sdp");
    const std::string url = text("streamurl");
    if (offer.sdp.empty()) return fail(Code::kProtocol, "sdp is missing");
    if (url.empty()) return fail(Code::kProtocol, "streamurl is missing: webrtc://HOST/APP/STREAM");
    auto parsed = TRY(rtmp::parse_any_url(url), "streamurl");
    auto address = TRY(rtmp::resolve_stream(parsed.tc_url(), "", parsed.stream), "streamurl");
    offer.vhost = std::move(address.vhost);
    offer.app = std::move(address.app);
    offer.stream = std::move(address.stream);
    offer.param = std::move(address.params);
    offer.tc_url = fmt::format("rtmp://{}/{}", offer.vhost, offer.app);
    const std::string_view query = std::string_view(offer.param).substr(offer.param.empty() ? 0 : 1);
    TRY(read_wishes(offer, http::parse_query(query)));
    if (takes_token) add_token(offer, request.message);
    return offer;
}

std::string session_url(std::string_view path, const OfferRequest& offer, std::string_view session,
                        std::string_view token) {
    return fmt::format("{}?action=delete&token={}&app={}&stream={}&session={}", path, token,
                       http::percent_encode(offer.app, "/"), http::percent_encode(offer.stream, ""), session);
}

std::string ice_server_links(const std::vector<std::string>& ice_server) {
    std::string all;
    for (size_t i = 0; i < ice_server.size(); ++i) {
        all += fmt::format("{}<{}>; rel=\"ice-server\"", all.empty() ? "" : ", ", ice_server[i]);
        if (!ice_server[i].starts_with("turn") || i + 2 >= ice_server.size()) continue;
        all += fmt::format("; username=\"{}\"; credential=\"{}\"; credential-type=\"password\"", ice_server[i + 1],
                           ice_server[i + 2]);
        i += 2;
    }
    return all;
}

}  // namespace service::rtc

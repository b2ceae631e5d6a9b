#include "service/api/url_signing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/ip.h"
#include "base/json.h"
#include "base/stream_name.h"
#include "net/access/signed_urls.h"
#include "protocol/http/url.h"

namespace service::api {

using base::Code;
using base::Result;

namespace {

constexpr int64_t kMaxSeconds = 366 * 86'400;
constexpr size_t kMaxName = 64;

std::unexpected<base::Error> wrong(std::string text) { return base::fail(Code::kConfig, std::move(text)); }

Result<void> check(SigningRequest& ask) {
    for (const auto& [what, name] : {std::pair("vhost", &ask.vhost), {"app", &ask.app}, {"stream", &ask.stream}})
        TRY(base::check_name(what, *name));
    if (ask.seconds < 1 || ask.seconds > kMaxSeconds)
        return wrong(fmt::format("seconds are from 1 to {}", kMaxSeconds));
    if (!ask.ip.empty()) {
        const auto address = base::IpAddress::parse(ask.ip);
        if (!address) return wrong("ip is no address");
        ask.ip = address->text();
    }
    // Lines of the signed text end with a line feed.
    const bool is_plain = std::ranges::none_of(ask.name, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
    if (ask.name.size() > kMaxName || !is_plain)
        return wrong(fmt::format("name has at most {} bytes, on one line", kMaxName));
    return {};
}

}  // namespace

Result<SigningRequest> parse_signing_request(std::string_view body) {
    const base::Json json = base::parse_json(body);
    if (!json.is_object()) return wrong("the body must be a JSON object");
    SigningRequest ask{.vhost = "__defaultVhost__"};
    const std::pair<std::string_view, std::string*> texts[] = {
        {"vhost", &ask.vhost}, {"app", &ask.app}, {"stream", &ask.stream}, {"ip", &ask.ip}, {"name", &ask.name}};
    for (const auto& [key, value] : json.items()) {
        const auto text = std::ranges::find(texts, std::string_view(key), [](const auto& one) { return one.first; });
        if (text != std::end(texts) && value.is_string()) {
            *text->second = value.get<std::string>();
        } else if (key == "seconds" && value.is_number_unsigned()) {
            ask.seconds = static_cast<int64_t>(std::min<uint64_t>(value.get<uint64_t>(), kMaxSeconds + 1));
        } else if (key == "action" && (value == "play" || value == "publish")) {
            ask.publishes = value == "publish";
        } else {
            return wrong(
                "action is play or publish, seconds is an integer, vhost, app, stream, ip and name are texts; "
                "there is nothing else");
        }
    }
    TRY(check(ask));
    return ask;
}

std::vector<Endpoint> UrlSigning::endpoints() {
    Endpoints<UrlSigning> rows(*this, Access::kPrivileged);
    Endpoint& row = rows.add(http::Method::kPost, "/api/v1/signed_urls",
                             "signs the URL of a stream: the parameters to add to it, and when it expires",
                             "required:bool expires:int query:str", &UrlSigning::sign);
    row.body_shape = "action?:str vhost?:str app:str stream:str seconds?:int ip?:str name?:str";
    row.failures = {{400, "the body"}, {404, "there is no such vhost"}, {409, "the vhost has no signed_urls"}};
    row.subject = [](const Request& request) {
        const auto ask = parse_signing_request(request.message.body);
        if (!ask) return std::string();
        return fmt::format("{} {}/{}/{} for {} s{}{}", ask->publishes ? "publish" : "play", ask->vhost, ask->app,
                           ask->stream, ask->seconds, ask->name.empty() ? "" : ", name ", ask->name);
    };
    row.own_words = true;  // a signature is what is asked for
    return rows.take();
}

Result<void> UrlSigning::sign(Request& request, Response& response) {
    const auto ask = parse_signing_request(request.message.body);
    if (!ask) return send_failure(response, context_.identity, 400, ask.error().text());
    const config::SnapshotPtr snapshot = context_.snapshot;
    const config::Vhost* vhost = snapshot->find_vhost(ask->vhost);
    if (!vhost) return send_failure(response, context_.identity, 404, "there is no such vhost");
    const config::VhostSignedUrls& options = vhost->signed_urls;
    if (!options.enabled || options.secret.empty())
        return send_failure(response, context_.identity, 409, "the vhost has no signed_urls");
    const int64_t expires_s = base::wall_ms() / 1000 + ask->seconds;
    const std::string expires = std::to_string(expires_s);
    net::Visitor visitor{};
    visitor.action = ask->publishes ? net::Action::kPublish : net::Action::kPlay;
    visitor.vhost = vhost->name;
    visitor.app = ask->app;
    visitor.stream = ask->stream;
    // The first secret is the newest: the others go when their URLs have expired (doc/hooks.md).
    const std::string sign = net::sign_url(options.secret.front(), visitor, expires, ask->ip, ask->name);
    std::string query = "expires=" + expires;
    if (!ask->ip.empty()) query += "&ip=" + http::percent_encode(ask->ip, ":");
    if (!ask->name.empty()) query += "&sign_name=" + http::percent_encode(ask->name, "");
    query += "&sign=" + sign;
    return send_fields(
        response, context_.identity,
        {{"required", ask->publishes ? options.publish : options.play}, {"expires", expires_s}, {"query", query}});
}

}  // namespace service::api

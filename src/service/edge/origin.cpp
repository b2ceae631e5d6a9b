#include "service/edge/origin.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/snapshot.h"
#include "protocol/http/url.h"
#include "protocol/rtmp/url.h"

namespace service::edge {

using base::Code;
using base::fail;
using base::Result;

namespace {

// The origin has to understand the URL as it is meant: a name that a client chose must not select another vhost.
Result<void> check_names(const relay::Target& target, const base::StreamKey& key, std::string_view vhost) {
    const auto url = TRY(::rtmp::parse_url(target.url));
    const auto address = TRY(::rtmp::resolve_stream(url.tc_url(), url.app, url.stream));
    std::string expected(vhost);
    if (vhost == config::kDefaultVhost) {
        const auto plain =
            TRY(::rtmp::parse_url(target.url.substr(0, target.url.find('/', target.url.find("://") + 3)) + "/a/s"));
        expected = TRY(::rtmp::resolve_stream(plain.tc_url(), plain.app, plain.stream)).vhost;
    }
    if (address.app == key.app && address.stream == key.name && address.vhost == expected) return {};
    return fail(Code::kConfig, "a name with characters that have a meaning in a URL");
}

void add_parameter(std::string& url, std::string_view parameter) {
    url += url.find('?') == url.npos ? '?' : '&';
    url += parameter;
}

}  // namespace

Result<Origin> parse_origin(std::string_view text) {
    Origin origin{std::string(text), {}, {}};
    std::string_view rest = text;
    if (const size_t end = rest.find("://"); end != rest.npos) {
        origin.scheme = relay::find_scheme(rest.substr(0, end));
        if (!origin.scheme)
            return fail(Code::kConfig, fmt::format("'{}' is no URL of rtmp, rtmps, http or https", text));
        rest.remove_prefix(end + 3);
    }
    if (std::ranges::any_of(rest, relay::is_no_url_byte))
        return fail(Code::kConfig, "an address has a space or a control character");
    const auto url = ::rtmp::parse_url(fmt::format("rtmp://{}/a/s", rest));
    if (rest.empty() || rest.find_first_of("/?#@") != rest.npos || !url)
        return fail(Code::kConfig,
                    fmt::format("'{}' is no address: write HOST, HOST:PORT or SCHEME://HOST:PORT", text));
    origin.authority = rest;
    return origin;
}

bool is_same_origin(std::string_view one, std::string_view other, Scheme scheme) {
    const auto address_of = [scheme](std::string_view text) -> std::string {
        const auto origin = parse_origin(text);
        if (!origin) return {};
        const Scheme used = origin->scheme.value_or(scheme);
        std::string_view authority = origin->authority;
        const std::string_view standard = relay::is_rtmp(used) ? ":1935" : used == Scheme::kHttp ? ":80" : ":443";
        if (used != Scheme::kRtmps && authority.ends_with(standard)) authority.remove_suffix(standard.size());
        return fmt::format("{}://{}", relay::scheme_name(used), authority);
    };
    const std::string address = address_of(one);
    return !address.empty() && address == address_of(other);
}

Result<relay::Target> target_of(const Origin& origin, Scheme scheme, const base::StreamKey& key, std::string_view vhost,
                                std::string_view params) {
    relay::Target target;
    target.scheme = origin.scheme.value_or(scheme);
    const bool rtmp = relay::is_rtmp(target.scheme);
    const std::string path = key.app + "/" + key.name;
    target.url = fmt::format("{}://{}/{}", relay::scheme_name(target.scheme), origin.authority,
                             rtmp ? path : http::percent_encode(path) + ".flv");
    target.shown = relay::without_parameters(target.url);
    // Before those of a client, whose number has no effect on them then.
    if (vhost != config::kDefaultVhost) add_parameter(target.url, fmt::format("vhost={}", vhost));
    if (!rtmp) add_parameter(target.url, "tracks=all");
    if (params.starts_with('?')) add_parameter(target.url, params.substr(1));
    TRY(relay::check(target), "the stream's URL");
    if (!rtmp) return target;
    TRY(check_names(target, key, vhost), "the stream's URL");
    // An origin may have no __defaultVhost__, so that it refuses its own address at connect.
    if (vhost == config::kDefaultVhost) return target;
    ::rtmp::Url url = TRY(::rtmp::parse_url(target.url));
    url.host = vhost;
    target.tc_url = url.tc_url();
    return target;
}

}  // namespace service::edge

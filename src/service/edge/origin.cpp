#include "service/edge/origin.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/redaction.h"
#include "config/snapshot.h"
#include "protocol/http/url.h"
#include "protocol/rtmp/url.h"
#include "service/relay/srt_address.h"

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
    if (::srt::is_srt_url(text)) {
        const ::srt::Url url = TRY(::srt::parse_url(text), base::bare_url(text));
        origin.scheme = Scheme::kSrt;
        origin.authority = url.shown.substr(url.shown.find("://") + 3);
        if (const size_t query = text.find('?'); query != text.npos) origin.parameters = text.substr(query + 1);
        return origin;
    }
    if (const size_t end = rest.find("://"); end != rest.npos) {
        origin.scheme = relay::find_scheme(rest.substr(0, end));
        if (!origin.scheme)
            return fail(Code::kConfig, fmt::format("'{}' is no URL of rtmp, rtmps, http, https or srt", text));
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

std::string shown_origin(std::string_view text) {
    const auto origin = ::srt::is_srt_url(text) ? parse_origin(text) : Origin{std::string(text), {}, {}};
    return origin && origin->is_srt() ? "srt://" + origin->authority : std::string(text);
}

std::vector<std::string> shown_origins(const std::vector<std::string>& texts) {
    std::vector<std::string> shown;
    for (const std::string& text : texts) shown.push_back(shown_origin(text));
    return shown;
}

Result<Origin> find_origin(const std::vector<std::string>& texts, std::string_view shown) {
    const auto found = std::ranges::find(texts, shown, [](const std::string& text) { return shown_origin(text); });
    return parse_origin(found == texts.end() ? shown : std::string_view(*found));
}

bool is_same_origin(std::string_view one, std::string_view other, Scheme scheme) {
    const auto address_of = [scheme](std::string_view text) -> std::string {
        const auto origin = parse_origin(text);
        if (!origin) return {};
        const Scheme used = origin->scheme.value_or(scheme);
        std::string_view authority = origin->authority;
        const std::string_view standard = relay::is_rtmp(used) ? ":1935" : used == Scheme::kHttp ? ":80" : ":443";
        if (used != Scheme::kRtmps && used != Scheme::kSrt && authority.ends_with(standard))
            authority.remove_suffix(standard.size());
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

Result<relay::SrtTarget> srt_target_of(const Origin& origin, ::srt::StreamMode mode, const base::StreamKey& key,
                                       std::string_view vhost, std::string_view params, std::string_view path) {
    const std::string url = TRY(relay::srt_url({.authority = origin.authority,
                                                .parameters = origin.parameters,
                                                .mode = mode,
                                                .stream = key,
                                                .vhost = vhost,
                                                .params = params,
                                                .path = path}));
    return relay::SrtTarget{TRY(::srt::parse_url(url)), "srt://" + origin.authority};
}

}  // namespace service::edge

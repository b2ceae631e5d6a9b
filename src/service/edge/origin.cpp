#include "service/edge/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/snapshot.h"

namespace service::edge {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr std::array<std::string_view, 4> kSchemes = {"rtmp", "rtmps", "http", "https"};
constexpr size_t kMaxLocation = 4096;  // bytes

std::optional<Scheme> find_scheme(std::string_view name) {
    const auto found = std::ranges::find(kSchemes, name);
    if (found == kSchemes.end()) return {};
    return static_cast<Scheme>(found - kSchemes.begin());
}

bool is_no_address(char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }

std::string without_parameters(std::string_view url) { return base::for_log(url.substr(0, url.find('?'))); }

Result<void> check(const Source& source) {
    if (is_rtmp(source.scheme)) {
        TRY(::rtmp::parse_url(source.url));
    } else {
        TRY(http::parse_absolute_url(source.url));
    }
    return {};
}

// The origin has to understand the URL as it is meant: a name that a client chose must not select another vhost.
Result<void> check_names(const Source& source, const base::StreamKey& key, std::string_view vhost) {
    const auto url = TRY(::rtmp::parse_url(source.url));
    const auto address = TRY(::rtmp::resolve_stream(url.tc_url(), url.app, url.stream));
    std::string expected(vhost);
    if (vhost == config::kDefaultVhost) {
        const auto plain =
            TRY(::rtmp::parse_url(source.url.substr(0, source.url.find('/', source.url.find("://") + 3)) + "/a/s"));
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

std::string_view scheme_name(Scheme scheme) { return kSchemes[static_cast<size_t>(scheme)]; }

Result<Origin> parse_origin(std::string_view text) {
    Origin origin{std::string(text), {}, {}};
    std::string_view rest = text;
    if (const size_t end = rest.find("://"); end != rest.npos) {
        origin.scheme = find_scheme(rest.substr(0, end));
        if (!origin.scheme)
            return fail(Code::kConfig, fmt::format("'{}' is no URL of rtmp, rtmps, http or https", text));
        rest.remove_prefix(end + 3);
    }
    if (std::ranges::any_of(rest, is_no_address))
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
        const std::string_view standard = is_rtmp(used) ? ":1935" : used == Scheme::kHttp ? ":80" : ":443";
        if (used != Scheme::kRtmps && authority.ends_with(standard)) authority.remove_suffix(standard.size());
        return fmt::format("{}://{}", scheme_name(used), authority);
    };
    const std::string address = address_of(one);
    return !address.empty() && address == address_of(other);
}

Result<Source> source_of(const Origin& origin, Scheme scheme, const base::StreamKey& key, std::string_view vhost,
                         std::string_view params) {
    Source source;
    source.scheme = origin.scheme.value_or(scheme);
    const bool rtmp = is_rtmp(source.scheme);
    const std::string path = key.app + "/" + key.name;
    source.url = fmt::format("{}://{}/{}", scheme_name(source.scheme), origin.authority,
                             rtmp ? path : http::percent_encode(path) + ".flv");
    source.shown = without_parameters(source.url);
    // Before those of a client, whose number has no effect on them then.
    if (vhost != config::kDefaultVhost) add_parameter(source.url, fmt::format("vhost={}", vhost));
    if (!rtmp) add_parameter(source.url, "tracks=all");
    if (params.starts_with('?')) add_parameter(source.url, params.substr(1));
    TRY(check(source), "the stream's URL");
    if (!rtmp) return source;
    TRY(check_names(source, key, vhost), "the stream's URL");
    // An origin may have no __defaultVhost__, so that it refuses its own address at connect.
    if (vhost == config::kDefaultVhost) return source;
    ::rtmp::Url url = TRY(::rtmp::parse_url(source.url));
    url.host = vhost;
    source.tc_url = url.tc_url();
    return source;
}

Result<Source> redirected(const Source& from, std::string_view location) {
    if (location.size() > kMaxLocation || std::ranges::any_of(location, is_no_address))
        return fail(Code::kProtocol, "redirected to what is no URL");
    Source to;
    to.url = location;
    if (!is_rtmp(from.scheme) && location.starts_with('/') && !location.starts_with("//")) {
        const auto before = TRY(http::parse_absolute_url(from.url));
        to.url = fmt::format("{}://{}{}", scheme_name(from.scheme), before.authority, location);
    }
    to.shown = without_parameters(to.url);
    const auto scheme = find_scheme(std::string_view(to.url).substr(0, to.url.find("://")));
    to.scheme = scheme.value_or(from.scheme);
    if (!scheme || is_rtmp(to.scheme) != is_rtmp(from.scheme) || !check(to))
        return fail(Code::kProtocol, fmt::format("redirected to {}, which is no URL of {}", to.shown,
                                                 is_rtmp(from.scheme) ? "RTMP" : "HTTP"));
    return to;
}

}  // namespace service::edge

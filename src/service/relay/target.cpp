#include "service/relay/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "protocol/http/url.h"
#include "protocol/rtmp/url.h"

namespace service::relay {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr std::array<std::string_view, 5> kSchemes = {"rtmp", "rtmps", "http", "https", "srt"};
constexpr size_t kMaxLocation = 4096;  // bytes

}  // namespace

std::string_view scheme_name(Scheme scheme) { return kSchemes[static_cast<size_t>(scheme)]; }

std::optional<Scheme> find_scheme(std::string_view name) {
    const auto found = std::ranges::find(kSchemes, name);
    if (found == kSchemes.end()) return {};
    return static_cast<Scheme>(found - kSchemes.begin());
}

std::string without_parameters(std::string_view url) { return base::for_log(url.substr(0, url.find('?'))); }

Result<void> check(const Target& target) {
    if (is_rtmp(target.scheme)) {
        TRY(::rtmp::parse_url(target.url));
    } else {
        TRY(http::parse_absolute_url(target.url));
    }
    return {};
}

Result<Target> redirected(const Target& from, std::string_view location) {
    if (location.size() > kMaxLocation || std::ranges::any_of(location, is_no_url_byte))
        return fail(Code::kProtocol, "redirected to what is no URL");
    Target to;
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

}  // namespace service::relay

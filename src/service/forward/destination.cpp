#include "service/forward/destination.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/redaction.h"
#include "config/value.h"
#include "protocol/rtsp/url.h"
#include "protocol/srt/url.h"
#include "service/forward/udp_target.h"
#include "service/udp_url.h"

namespace service::forward {

using base::Code;
using base::fail;
using base::Result;

namespace {

Result<void> check_authority(std::string_view text, std::string_view authority) {
    auto bad = [&](std::string_view why) {
        return fail(Code::kConfig, fmt::format("'{}' {}: write HOST, HOST:PORT, rtmp://HOST:PORT or "
                                               "rtmps://HOST:PORT/APP/STREAM",
                                               base::hide_credentials(text), why));
    };
    if (authority.empty() || authority.starts_with(':')) return bad("names no host");
    if (authority.find_first_of("@?#[]") != authority.npos && !authority.starts_with('[')) return bad("is no address");
    size_t close = authority.starts_with('[') ? authority.find(']') : 0;
    if (close == authority.npos || close == 1) return bad("is no address");
    std::string_view rest = authority.substr(authority.starts_with('[')              ? close + 1
                                             : authority.find(':') == authority.npos ? authority.size()
                                                                                     : authority.find(':'));
    if (rest.empty()) return {};
    if (rest[0] != ':' || !config::parse_listen_address(rest.substr(1))) return bad("has no port that can be");
    return {};
}

// The URL of an RTSP server, whose paths have any form.
Result<Destination> parse_rtsp(std::string_view text) {
    const ::rtsp::Url url = TRY(::rtsp::parse_url(text), base::hide_credentials(text));
    Destination destination;
    destination.scheme = url.tls ? "rtsps" : "rtsp";
    std::string_view rest = text.substr(text.find("://") + 3);
    const size_t end = std::min(rest.find_first_of("/?"), rest.size());
    const std::string_view authority = rest.substr(0, end);
    const size_t host = authority.rfind('@') + 1;  // without an @ the beginning
    destination.credentials = authority.substr(0, host);
    destination.authority = authority.substr(host);
    rest.remove_prefix(end);
    if (rest.starts_with('?')) return fail(Code::kConfig, base::hide_credentials(text) + " has no path before its ?");
    if (!rest.empty()) destination.path = rest.substr(1);
    return destination;
}

Result<Destination> parse_srt(std::string_view text) {
    const ::srt::Url url = TRY(::srt::parse_url(text), base::bare_url(text));
    Destination destination;
    destination.scheme = "srt";
    destination.authority = url.shown.substr(url.shown.find("://") + 3);
    if (const size_t query = text.find('?'); query != text.npos) destination.parameters = text.substr(query + 1);
    return destination;
}

Result<Destination> parse_udp(std::string_view text) {
    const UdpTarget target = TRY(parse_udp_target(text), base::bare_url(text));
    Destination destination;
    destination.scheme = target.rtp ? "rtp" : "udp";
    const bool is_v6 = target.host.find(':') != target.host.npos;
    destination.authority =
        is_v6 ? fmt::format("[{}]:{}", target.host, target.port) : fmt::format("{}:{}", target.host, target.port);
    if (const size_t query = text.find('?'); query != text.npos) destination.parameters = text.substr(query + 1);
    return destination;
}

}  // namespace

Result<Destination> parse_destination(std::string_view text) {
    if (::rtsp::is_rtsp_url(text)) return parse_rtsp(text);
    if (::srt::is_srt_url(text)) return parse_srt(text);
    if (is_udp_url(text)) return parse_udp(text);
    Destination destination;
    std::string_view rest = text;
    if (size_t scheme = rest.find("://"); scheme != rest.npos) {
        std::string_view name = rest.substr(0, scheme);
        if (name != "rtmp" && name != "rtmps")
            return fail(Code::kConfig,
                        fmt::format("'{}' is none of rtmp://, rtmps://, rtsp://, rtsps://, srt://, udp:// and rtp://",
                                    base::hide_credentials(text)));
        destination.scheme = name;
        rest.remove_prefix(scheme + 3);
    }
    bool odd = std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; });
    if (odd) return fail(Code::kConfig, "a destination has a space or a control character");
    size_t slash = rest.find('/');
    destination.authority = rest.substr(0, slash);
    TRY(check_authority(text, destination.authority));
    std::string_view path = slash == rest.npos ? std::string_view() : rest.substr(slash + 1);
    if (path.empty()) return destination;
    std::string_view names = path.substr(0, path.find('?'));
    size_t last = names.rfind('/');
    if (last == names.npos || last == 0 || last + 1 == names.size())
        return fail(Code::kConfig,
                    fmt::format("'{}' needs both an app and a stream behind the host, or neither", text));
    destination.path = path;
    return destination;
}

}  // namespace service::forward

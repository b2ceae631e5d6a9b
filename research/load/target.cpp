#include "load/target.h"

#include <charconv>

namespace load {

namespace {

base::Result<uint16_t> parse_port(std::string_view text) {
    unsigned value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 65535) {
        return base::fail(base::Code::kConfig, fmt::format("\"{}\" is no port", text));
    }
    return static_cast<uint16_t>(value);
}

// rest: behind "http://" and the like.
base::Result<Target> parse_plain(Scheme scheme, std::string_view rest, uint16_t default_port) {
    Target target;
    target.scheme = scheme;
    size_t slash = rest.find('/');
    std::string_view authority = rest.substr(0, slash);
    target.path = slash == rest.npos ? "/" : std::string(rest.substr(slash));
    size_t colon = authority.rfind(':');
    if (colon != authority.npos && authority.find(']', colon) == authority.npos) {
        target.port = TRY(parse_port(authority.substr(colon + 1)));
        authority = authority.substr(0, colon);
    } else {
        target.port = default_port;
    }
    if (authority.starts_with('[') && authority.ends_with(']')) authority = authority.substr(1, authority.size() - 2);
    if (authority.empty()) return base::fail(base::Code::kConfig, "there is no host in the URL");
    if (target.port == 0) return base::fail(base::Code::kConfig, "there is no port in the URL");
    target.host = authority;
    return target;
}

}  // namespace

std::string number_url(std::string_view url, uint32_t i) {
    constexpr std::string_view kMark = "{i}";
    std::string out;
    for (size_t at; (at = url.find(kMark)) != url.npos; url.remove_prefix(at + kMark.size())) {
        out += url.substr(0, at);
        out += std::to_string(i);
    }
    return out += url;
}

base::Result<Target> parse_target(std::string_view url) {
    if (url.starts_with("http://")) return parse_plain(Scheme::kHttp, url.substr(7), 80);
    if (url.starts_with("https://")) return parse_plain(Scheme::kHttps, url.substr(8), 443);
    if (url.starts_with("srt://")) return parse_plain(Scheme::kSrt, url.substr(6), 0);
    if (url.starts_with("tcp://")) return parse_plain(Scheme::kTcp, url.substr(6), 0);
    if (url.starts_with("udp://")) return parse_plain(Scheme::kUdp, url.substr(6), 0);
    if (url.starts_with("rtsp://")) {
        Target target = TRY(parse_plain(Scheme::kRtsp, url.substr(7), 554));
        target.url = url;
        return target;
    }
    if (!url.starts_with("rtmp://")) {
        return base::fail(
            base::Code::kConfig,
            fmt::format("\"{}\" begins with none of rtmp://, http://, https://, rtsp://, srt://, tcp://, udp://", url));
    }
    Target target;
    target.rtmp = TRY(rtmp::parse_url(url));
    target.host = target.rtmp.host;
    target.port = target.rtmp.port;
    return target;
}

}  // namespace load

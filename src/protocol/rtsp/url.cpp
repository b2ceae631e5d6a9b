#include "protocol/rtsp/url.h"

#include <algorithm>

#include "protocol/http/headers.h"
#include "protocol/http/url.h"
#include "protocol/rtsp/text.h"

namespace rtsp {

using base::Code;
using base::fail;
using base::Result;

namespace {

// Bytes that would end a line of a request.
bool has_control_bytes(std::string_view text) {
    for (const char c : text)
        if (static_cast<unsigned char>(c) <= ' ' || c == 127) return true;
    return false;
}

Result<void> set_authority(Url& url, std::string_view authority) {
    if (const size_t at = authority.rfind('@'); at != authority.npos) {
        const std::string_view user = authority.substr(0, at);
        const size_t colon = std::min(user.find(':'), user.size());
        auto name = http::percent_decode(user.substr(0, colon));
        auto password = http::percent_decode(colon < user.size() ? user.substr(colon + 1) : std::string_view());
        if (!name || !password) return fail(Code::kConfig, "user or password is not percent-encoded as it has to be");
        url.credentials = {*std::move(name), *std::move(password)};
        authority.remove_prefix(at + 1);
    }
    std::string_view port;
    if (authority.starts_with('[')) {
        const size_t end = authority.find(']');
        if (end == authority.npos) return fail(Code::kConfig, "the host has a [ without a ]");
        url.host = authority.substr(1, end - 1);
        port = authority.substr(end + 1);
    } else {
        const size_t colon = std::min(authority.find(':'), authority.size());
        url.host = authority.substr(0, colon);
        port = authority.substr(colon);
    }
    if (url.host.empty()) return fail(Code::kConfig, "the URL has no host");
    if (port.empty()) return {};
    const auto value = number<uint16_t>(port.substr(1));
    if (port.front() != ':' || !value || *value == 0) return fail(Code::kConfig, "the port is not a number");
    url.port = *value;
    return {};
}

}  // namespace

bool is_rtsp_url(std::string_view text) {
    const std::string_view scheme = text.substr(0, text.find("://"));
    return scheme.size() < text.size() &&
           (http::equal_ignoring_case(scheme, "rtsp") || http::equal_ignoring_case(scheme, "rtsps"));
}

Result<Url> parse_url(std::string_view text) {
    if (!is_rtsp_url(text)) return fail(Code::kConfig, "the URL does not begin with rtsp:// or rtsps://");
    if (has_control_bytes(text)) return fail(Code::kConfig, "the URL has spaces or control bytes");
    Url url;
    url.tls = text[4] == 's' || text[4] == 'S';
    url.port = url.tls ? kDefaultTlsPort : kDefaultPort;
    const size_t begin = text.find("://") + 3;
    const size_t end = std::min(text.find_first_of("/?", begin), text.size());
    const std::string_view authority = text.substr(begin, end - begin);
    TRY(set_authority(url, authority));
    url.url = text.substr(0, begin);
    url.url += authority.substr(authority.rfind('@') + 1);  // without an @ from 0 on
    url.url += text.substr(end);
    return url;
}

Result<Url> redirected(const Url& from, std::string_view location) {
    Url to = TRY(parse_url(location));
    const bool is_less_secure = from.tls && !to.tls;
    if (http::equal_ignoring_case(from.host, to.host) && from.port == to.port && !is_less_secure) {
        to.credentials = from.credentials;
    } else {
        to.credentials = {};
    }
    return to;
}

}  // namespace rtsp

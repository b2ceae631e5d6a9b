#include "protocol/rtsp/url.h"

#include <algorithm>

#include "base/authority.h"
#include "protocol/http/headers.h"
#include "protocol/http/url.h"

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

Result<void> set_authority(Url& url, std::string_view text) {
    const auto authority = base::split_authority(text);
    if (!authority) return fail(Code::kConfig, authority.error().text());
    if (authority->host.empty()) return fail(Code::kConfig, "the URL has no host");
    if (authority->port == 0) return fail(Code::kConfig, "the port is 0");
    const std::string_view user = authority->user;
    const size_t colon = std::min(user.find(':'), user.size());
    auto name = http::percent_decode(user.substr(0, colon));
    auto password = http::percent_decode(colon < user.size() ? user.substr(colon + 1) : std::string_view());
    if (!name || !password) return fail(Code::kConfig, "user or password is not percent-encoded as it has to be");
    url.credentials = {*std::move(name), *std::move(password)};
    url.host = authority->host;
    url.port = authority->port.value_or(url.tls ? kDefaultTlsPort : kDefaultPort);
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

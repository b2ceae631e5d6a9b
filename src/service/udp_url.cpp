#include "service/udp_url.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/authority.h"
#include "base/redaction.h"

namespace service {

using base::Code;
using base::fail;

bool is_udp_url(std::string_view text) { return text.starts_with("udp://") || text.starts_with("rtp://"); }

base::Result<UdpUrl> parse_udp_url(std::string_view text) {
    if (!is_udp_url(text))
        return fail(Code::kConfig, fmt::format("url '{}' is not udp://HOST:PORT", base::bare_url(text)));
    const std::string_view rest = text.substr(text.find("://") + 3);
    const size_t end = std::min(rest.find_first_of("/?"), rest.size());
    const auto authority = TRY(base::split_authority(rest.substr(0, end)), "url");
    if (!authority.port || *authority.port == 0) return fail(Code::kConfig, "the url has no port");
    UdpUrl url;
    url.rtp = text.starts_with("rtp");
    url.host = authority.host;
    url.port = *authority.port;
    if (const size_t query = rest.find('?'); query != rest.npos)
        url.parameters = http::parse_query(rest.substr(query + 1));
    return url;
}

}  // namespace service

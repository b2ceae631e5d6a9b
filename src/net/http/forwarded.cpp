#include "net/http/forwarded.h"

#include <algorithm>
#include <optional>

namespace net {

namespace {

constexpr std::string_view kField = "X-Forwarded-For";

// "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80".
std::optional<base::IpAddress> parse_hop(std::string_view text) {
    text = http::trim(text);
    if (text.starts_with('[')) return base::IpAddress::parse(text.substr(1, std::min(text.find(']'), text.size()) - 1));
    if (std::ranges::count(text, ':') == 1) text = text.substr(0, text.find(':'));
    return base::IpAddress::parse(text);
}

bool is_trusted(const base::IpAddress& ip, const std::vector<base::IpNetwork>& trusted) {
    return std::ranges::any_of(trusted, [&](const base::IpNetwork& network) { return network.contains(ip); });
}

}  // namespace

std::string client_ip(const std::string& peer_ip, const http::Headers& fields,
                      const std::vector<base::IpNetwork>& trusted) {
    if (trusted.empty() || !fields.find(kField)) return peer_ip;
    auto ip = base::IpAddress::parse(peer_ip);
    if (!ip) return peer_ip;
    std::string all;
    for (const auto& [name, value] : fields)
        if (http::equal_ignoring_case(name, kField)) all.append(all.empty() ? "" : ",").append(value);
    std::string_view rest = all;
    while (!rest.empty() && is_trusted(*ip, trusted)) {
        const size_t comma = rest.rfind(',');
        const auto hop = parse_hop(comma == rest.npos ? rest : rest.substr(comma + 1));
        if (!hop) break;
        ip = hop;
        rest = rest.substr(0, comma == rest.npos ? 0 : comma);
    }
    return ip->text();
}

}  // namespace net

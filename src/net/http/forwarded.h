#pragma once
// Finds the client's address when proxies are between: X-Forwarded-For, believed only from trusted proxies
// (trusted_proxies). Each proxy appends the address it was called from, so everything left of the first untrusted
// address from the right may be forged. Pure. Not here: Forwarded (RFC 7239), PROXY protocol.

#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "protocol/http/headers.h"

namespace net {

// The peer's address, or, if the peer is a trusted proxy, the rightmost address of the fields that is not a trusted
// proxy. Text that is not an address ends the search: the proxy that added it is then the result.
std::string client_ip(const std::string& peer_ip, const http::Headers& fields,
                      const std::vector<base::IpNetwork>& trusted);

}  // namespace net

#pragma once
// Whose request it is when proxies stand between: X-Forwarded-For, believed only from those that are trusted
// (trusted_proxies). Each proxy adds at the right the address it was called from, so what stands to the left of the
// first address that is nobody's of ours may be anybody's invention. Pure. Not here: Forwarded (RFC 7239), PROXY
// protocol.

#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "protocol/http/headers.h"

namespace net {

// The peer's address, or where the peer is a trusted proxy the rightmost address of the fields that is not one. What is
// no address ends the search: the proxy that said so is the last that is known.
std::string client_ip(const std::string& peer_ip, const http::Headers& fields,
                      const std::vector<base::IpNetwork>& trusted);

}  // namespace net

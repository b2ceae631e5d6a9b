#pragma once
// Addresses of transport streams by UDP, udp://HOST:PORT?..., and in RTP, rtp://HOST:PORT?..., as FFmpeg and MediaMTX
// write them: what an ingest receives, and what a stream is forwarded to. Pure text.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/http/url.h"

namespace service {

struct UdpUrl {
    bool rtp = false;    // each datagram is an RTP packet (RFC 2250)
    std::string host{};  // without brackets; may be empty
    uint16_t port = 0;   // never 0 after parsing
    http::Parameters parameters{};
};

// Whether its scheme is udp or rtp.
bool is_udp_url(std::string_view text);
// kConfig: it is not of that form. The text has no user and no parameters.
base::Result<UdpUrl> parse_udp_url(std::string_view text);

}  // namespace service

#pragma once
// Addresses of RTSP servers to connect to: rtsp[s]://USER:PASSWORD@HOST:PORT/PATH?QUERY (RFC 2326, section 3.2). User
// and password are kept apart, because the URL of requests and logs is the one without them.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/rtsp/auth.h"

namespace rtsp {

inline constexpr uint16_t kDefaultPort = 554, kDefaultTlsPort = 322;

struct Url {
    bool tls = false;
    std::string host{};  // without brackets
    uint16_t port = kDefaultPort;
    std::string url{};  // without user and password: it may be shown
    Credentials credentials{};
};

// Whether its scheme is rtsp or rtsps, in any case.
bool is_rtsp_url(std::string_view text);
// kConfig: it is no URL of RTSP with a host; the text has no password. User and password are percent-decoded.
base::Result<Url> parse_url(std::string_view text);
// Where a server redirects to. The credentials are for its own host and port alone, and not for a connection that is
// less secure.
base::Result<Url> redirected(const Url& from, std::string_view location);

}  // namespace rtsp

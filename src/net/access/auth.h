#pragma once
// Who may call what of the HTTP API, of WebRTC's management and of the exporter. Pure: a request and the configuration
// in, a verdict out. Names and passwords (RFC 7617), bearer tokens (RFC 6750), and tokens that may only read.

#include <string>
#include <string_view>

#include "config/snapshot.h"
#include "net/http/http_exchange.h"

namespace net {

enum class ApiAccess : uint8_t {
    kOpen,  // everybody, always: health checks
    kRead,  // everybody; with auth enabled those who authenticate, be it by a token that may only read
    // Changes or reveals: this machine itself and http_api.control's addresses; with auth enabled those who
    // authenticate and may do more than read.
    kPrivileged,
};

struct Verdict {
    int status = 0;  // 0: come in; 401, 403
    std::string_view why;
};

Verdict judge(ApiAccess access, const HttpRequest& request, const config::HttpApi& api);
// Whether the request is of who sees to this server: of this machine or one of http_api.control's, without a proxy, or
// of who authenticates. It may be one that judge() refuses all the same.
bool is_operator(const http::Request& message, std::string_view client_ip, const config::HttpApi& api);
// Whether a page of another site may have made a browser send this. A browser that does not say which page it was
// counts as if one had.
bool is_of_another_site(const http::Request& message);
// What the answer to a 401 must say (RFC 9110, 11.6.1).
inline constexpr std::string_view kChallenge = "Basic realm=\"SRS\", charset=\"UTF-8\"";

enum class Rights : uint8_t { kNone, kRead, kAll };
// Whose Authorization field this is. Takes the same time wherever a secret differs.
Rights rights_of(std::string_view authorization, const config::HttpApiAuth& auth);

}  // namespace net

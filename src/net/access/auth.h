#pragma once
// Authorisation of calls of the HTTP API, of WebRTC's management and of the exporter. Pure: a request and the
// configuration in, a result out. Names and passwords (RFC 7617), bearer tokens (RFC 6750), and read-only tokens.

#include <string>
#include <string_view>

#include "config/snapshot.h"
#include "net/http/http_exchange.h"

namespace net {

enum class ApiAccess : uint8_t {
    kOpen,  // everyone, always: health checks
    kRead,  // everyone; with auth enabled those who authenticate, a read-only token suffices
    // Changes or reveals something. Allowed to this machine itself and http_api.control's addresses, in a browser only
    // to pages of this server; with auth enabled to those who authenticate with more than a read-only token.
    kPrivileged,
};

struct AuthResult {
    int status = 0;  // 0: allowed; 401, 403
    std::string_view why;
};

AuthResult evaluate(ApiAccess access, const HttpRequest& request, const config::HttpApi& api);
// Whether the caller has proved, by credentials, that it may see what clients and the configuration put into URLs. A
// caller on this machine has not: it may be a proxy, or any user.
bool may_see_secrets(const HttpRequest& request, const config::HttpApi& api);
// Who may read what the files of service/accounts keep, and the names of customers: with auth enabled those who
// authenticate, a read-only token suffices; without it the callers of ApiAccess::kPrivileged.
AuthResult evaluate_records(const HttpRequest& request, const config::HttpApi& api);
// Whether the request comes from an operator: from this machine or one of http_api.control's addresses, without a
// proxy, or authenticated. evaluate() may still refuse such a request.
bool is_operator(const http::Request& message, std::string_view client_ip, const config::HttpApi& api);
// Whether a page of another site may have made a browser send this request. A browser that does not name the page is
// treated as if one had.
bool is_of_another_site(const http::Request& message);
// Whether a call of WebRTC's signalling has the token that http_api { auth { rtc_bearer_enabled } } asks for.
bool may_signal(const http::Request& message, const config::HttpApiAuth& auth);
// The WWW-Authenticate value of a 401 response (RFC 9110, 11.6.1). A browser asks for a name and a password only for
// Basic.
std::string_view challenge(const config::HttpApiAuth& auth);

// Whether the request has credentials, and they are wrong: somebody tries passwords, which is worth a line of the log.
bool has_wrong_credentials(const HttpRequest& request, const config::HttpApi& api);

// The name of that login, or which token it is: "token 1", "read token 2", as in the configuration; empty: it is none.
std::string login_of(std::string_view authorization, const config::HttpApiAuth& auth);

enum class Rights : uint8_t { kNone, kRead, kAll };
// The rights of this Authorization field. Compares secrets in constant time.
Rights rights_of(std::string_view authorization, const config::HttpApiAuth& auth);

}  // namespace net

#pragma once
// Who may call what of the API. Pure: a request and the configuration in, a verdict out.

#include <string>
#include <string_view>

#include "config/snapshot.h"
#include "net/http_exchange.h"

namespace service::api {

enum class Access : uint8_t {
    kRead,        // everybody; with auth enabled those who authenticate
    kPrivileged,  // changes or reveals: this machine itself, or those who authenticate
};

struct Verdict {
    int status = 0;  // 0: come in; 401, 403
    std::string_view why;
};

Verdict judge(Access access, const net::HttpRequest& request, const config::HttpApiAuth& auth);

// Whether the Authorization field has that name and password (RFC 7617). Takes the same time wherever they differ.
bool authenticates(std::string_view authorization, const config::HttpApiAuth& auth);

}  // namespace service::api

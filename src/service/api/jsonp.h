#pragma once
// JSONP, by which pages of SRS read the API: ?callback=NAME on a GET asks for a script that calls NAME with the answer.
// &method=DELETE beside it stands for that method, which a script element cannot use. Pure.

#include <string>
#include <string_view>

#include "config/snapshot.h"
#include "net/http/api_endpoint.h"

namespace service::api {

struct Jsonp {
    std::string_view callback{};               // of the request's; empty: the answer is JSON
    http::Method method = http::Method::kGet;  // that is meant
    int status = 0;                            // 0: all is well; 400, 403: it is answered so
    std::string_view why{};
};

// `access`: of what the path has for GET. Only what reads is given to callbacks, and what changes is taken from no page
// of another site (net::is_of_another_site), whoever may call. Nor is what reads given to one where credentials are
// asked for, which the browser adds by itself, or where crossdomain is off.
Jsonp read_jsonp(const net::HttpRequest& request, net::ApiAccess access, const config::HttpApi& api);

}  // namespace service::api

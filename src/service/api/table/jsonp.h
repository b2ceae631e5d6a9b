#pragma once
// JSONP, which SRS's pages use to read the API: ?callback=NAME on a GET requests a script that calls NAME with the
// answer. &method=DELETE with it stands for that method, which a script element cannot use. Pure.

#include <string>
#include <string_view>

#include "config/snapshot.h"
#include "net/http/api_endpoint.h"

namespace service::api {

struct Jsonp {
    std::string_view callback{};               // of the request; empty: the answer is JSON
    http::Method method = http::Method::kGet;  // the intended method
    int status = 0;                            // 0: accepted; 400, 403: the status to answer with
    std::string_view why{};
};

// `access`: that of the path's GET. Callbacks are allowed only for endpoints that read, and requests that change
// something are refused from a page of another site (net::is_of_another_site), whoever the caller is. Callbacks are
// also refused to such a page where credentials are required, which the browser adds by itself, or where crossdomain is
// off.
Jsonp read_jsonp(const net::HttpRequest& request, net::ApiAccess access, const config::HttpApi& api);

}  // namespace service::api

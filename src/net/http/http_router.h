#pragma once
// HttpRouter: which handlers a path and method have. One table of routes with a summary each, from which the API's
// description is made. A handler that sends nothing passes the request on to the next route that matches.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http/http_exchange.h"

namespace net {

using HttpHandler = std::function<base::Result<void>(HttpRequest&, HttpResponse&)>;

struct HttpRoute {
    std::vector<http::Method> methods;  // GET stands for HEAD too
    // "/api/v1/streams/{id}": a segment each, exact or {named}; with or without a slash at its end. "/console/*": the
    // rest of the path, as capture "*".
    std::string pattern;
    std::string summary;  // one line for people
    HttpHandler handler;
    size_t body_limit_bytes = 64 * 1024;
    // Of one whose clients come by a new connection for each piece, when a server drains: whether there are any. Who
    // comes then is served by such routes alone, which let nobody in that is new. Null: it has none.
    std::function<bool()> still_served = nullptr;
    bool is_fallback = false;  // behind all that are not: a file of the operator's of that path is served instead
};

class HttpRouter {
  public:
    void add(HttpRoute route);
    const std::vector<HttpRoute>& routes() const { return routes_; }

    struct Candidate {
        const HttpRoute* route;
        std::vector<std::pair<std::string, std::string>> captures;
    };
    struct Match {
        std::vector<Candidate> candidates;  // the most specific first, equal ones as added; fallbacks last
        std::vector<http::Method> allowed;  // what the path knows, whatever the request's method; empty: no such path
    };
    Match match(http::Method method, std::string_view path) const;

  private:
    std::vector<HttpRoute> routes_;  // by specificity, the most specific first
};

// "GET, HEAD, POST, OPTIONS": for Allow.
std::string allow_list(const std::vector<http::Method>& methods);

}  // namespace net

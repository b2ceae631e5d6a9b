#pragma once
// HttpRouter: maps a path and method to handlers. One table of routes with a summary each, from which the API's
// description is generated. If a handler sends nothing, the next matching route is tried.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http/http_exchange.h"

namespace net {

using HttpHandler = std::function<base::Result<void>(HttpRequest&, HttpResponse&)>;

// Called whenever some of a request's body has come, with the request's head and how many bytes came. Returns for how
// many us no more shall be read, which HTTP/2 does not heed. An error: no more is wanted, and the request is refused
// with its text, with 404 (Code::kNotFound) or 413 (Code::kRefused). Must not yield.
using HttpDrain = std::function<base::Result<int64_t>(const http::Request& head, size_t bytes)>;
inline bool is_of_drain(const base::Error& error) {
    return error.code() == base::Code::kNotFound || error.code() == base::Code::kRefused;
}
inline int drain_status(const base::Error& error) { return error.code() == base::Code::kNotFound ? 404 : 413; }

struct HttpRoute {
    std::vector<http::Method> methods;  // GET includes HEAD
    // "/api/v1/streams/{id}": segments, exact or {named}; with or without a trailing slash. "/console/*": the rest of
    // the path, as capture "*".
    std::string pattern;
    std::string summary;  // one line for people
    HttpHandler handler;
    size_t body_limit_bytes = 64 * 1024;
    HttpDrain drain = nullptr;  // takes the body, which is not kept then
    // For a route whose clients open a new connection for each piece: whether there are any, when the server drains.
    // New connections are then served by such routes only, and these admit no new clients. Null: the route has no such
    // clients.
    std::function<bool()> still_served = nullptr;
    bool is_fallback = false;  // ranked after all other routes: an operator's file of that path takes precedence
};

class HttpRouter {
  public:
    void add(HttpRoute route);
    const std::vector<HttpRoute>& routes() const { return routes_; }

    struct Match {
        const HttpRoute* route;
        std::vector<std::pair<std::string, std::string>> captures;
        size_t next;  // where the search for another one begins
    };
    // The first route from that position on. The most specific is found first, equal ones in the order added; fallbacks
    // last.
    std::optional<Match> match(http::Method method, std::string_view path, size_t from = 0) const;
    // The path's methods, whatever the request's method is; empty: no such path.
    std::vector<http::Method> methods_of(std::string_view path) const;

  private:
    std::vector<HttpRoute> routes_;    // by specificity, the most specific first
    std::vector<std::string> starts_;  // of each route: how every path begins that it matches
};

// "GET, HEAD, POST, OPTIONS": for Allow.
std::string allow_list(const std::vector<http::Method>& methods);

}  // namespace net

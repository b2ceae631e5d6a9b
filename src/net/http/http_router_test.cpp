#include "net/http/http_router.h"

#include <gtest/gtest.h>

namespace net {
namespace {

using http::Method;

HttpRouter make_router() {
    HttpRouter router;
    auto add = [&](Method method, std::string pattern) {
        HttpRoute route;
        route.methods = {method};
        route.pattern = pattern;
        route.summary = pattern;
        router.add(std::move(route));
    };
    add(Method::kGet, "/*");
    add(Method::kGet, "/");
    add(Method::kGet, "/api/v1/streams/{id}");
    add(Method::kGet, "/api/v1/streams");
    add(Method::kDelete, "/api/v1/streams/{id}");
    add(Method::kGet, "/api/v1/streams/all");
    add(Method::kPost, "/rtc/v1/whip");
    add(Method::kGet, "/console/*");
    add(Method::kGet, "/players/");
    return router;
}

// The patterns of all routes that match, in their order.
std::string patterns_of(const HttpRouter& router, Method method, std::string_view path) {
    std::string patterns;
    for (auto match = router.match(method, path); match; match = router.match(method, path, match->next))
        patterns += (patterns.empty() ? "" : " ") + match->route->pattern;
    return patterns;
}

TEST(HttpRouter, FindsTheMostSpecificFirst) {
    HttpRouter router = make_router();
    struct {
        Method method;
        std::string path;
        std::string patterns;
        std::string allow;
    } table[] = {
        {Method::kGet, "/", "/ /*", "GET, HEAD, OPTIONS"},
        {Method::kGet, "/x/y.flv", "/*", "GET, HEAD, OPTIONS"},
        {Method::kHead, "/api/v1/streams", "/api/v1/streams /*", "GET, HEAD, OPTIONS"},
        {Method::kGet, "/api/v1/streams/", "/api/v1/streams /*", "GET, HEAD, OPTIONS"},
        {Method::kGet, "/api/v1/streams/7", "/api/v1/streams/{id} /*", "GET, HEAD, DELETE, OPTIONS"},
        {Method::kGet, "/api/v1/streams/all", "/api/v1/streams/all /api/v1/streams/{id} /*",
         "GET, HEAD, DELETE, OPTIONS"},
        {Method::kDelete, "/api/v1/streams/7/", "/api/v1/streams/{id}", "GET, HEAD, DELETE, OPTIONS"},
        {Method::kPost, "/rtc/v1/whip/", "/rtc/v1/whip", "POST, GET, HEAD, OPTIONS"},
        {Method::kPut, "/rtc/v1/whip", "", "POST, GET, HEAD, OPTIONS"},
        {Method::kGet, "/console/a/b", "/console/* /*", "GET, HEAD, OPTIONS"},
        {Method::kGet, "/console", "/console/* /*", "GET, HEAD, OPTIONS"},
        {Method::kGet, "/consoles", "/*", "GET, HEAD, OPTIONS"},
        {Method::kGet, "/konsole", "/*", "GET, HEAD, OPTIONS"},
        {Method::kGet, "/players", "/players/ /*", "GET, HEAD, OPTIONS"},
    };
    for (auto& row : table) {
        EXPECT_EQ(patterns_of(router, row.method, row.path), row.patterns) << row.path;
        EXPECT_EQ(allow_list(router.methods_of(row.path)), row.allow) << row.path;
    }
}

TEST(HttpRouter, FallbacksComeLast) {
    HttpRouter router = make_router();
    HttpRoute page;
    page.methods = {Method::kGet};
    page.pattern = "/players/a.html";
    page.is_fallback = true;
    router.add(page);
    EXPECT_EQ(patterns_of(router, Method::kGet, "/players/a.html"), "/* /players/a.html")
        << "a file of that name first";
}

TEST(HttpRouter, Captures) {
    HttpRouter router = make_router();
    auto match = router.match(Method::kGet, "/api/v1/streams/7");
    HttpRequest request;
    request.captures = match->captures;
    EXPECT_EQ(request.capture("id"), "7");
    EXPECT_EQ(request.capture("other"), "");
    EXPECT_EQ(router.match(Method::kGet, "/console/a/b")->captures[0].second, "a/b");
    EXPECT_EQ(router.match(Method::kGet, "/a/")->captures[0].second, "a/");
}

TEST(HttpRouter, NoSuchPath) {
    HttpRouter router;
    EXPECT_FALSE(router.match(Method::kGet, "/a"));
    EXPECT_TRUE(router.methods_of("/a").empty());
}

}  // namespace
}  // namespace net

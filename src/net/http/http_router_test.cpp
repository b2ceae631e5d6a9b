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

TEST(HttpRouter, FindsTheMostSpecificFirst) {
    HttpRouter router = make_router();
    struct {
        Method method;
        std::string path;
        std::string patterns;  // of all candidates
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
        {Method::kGet, "/players", "/players/ /*", "GET, HEAD, OPTIONS"},
    };
    for (auto& row : table) {
        auto match = router.match(row.method, row.path);
        std::string patterns;
        for (auto& candidate : match.candidates) patterns += (patterns.empty() ? "" : " ") + candidate.route->pattern;
        EXPECT_EQ(patterns, row.patterns) << row.path;
        EXPECT_EQ(allow_list(match.allowed), row.allow) << row.path;
    }
}

TEST(HttpRouter, FallbacksComeLast) {
    HttpRouter router = make_router();
    HttpRoute page;
    page.methods = {Method::kGet};
    page.pattern = "/players/a.html";
    page.is_fallback = true;
    router.add(page);
    const auto match = router.match(Method::kGet, "/players/a.html");
    ASSERT_EQ(match.candidates.size(), 2u);
    EXPECT_EQ(match.candidates[0].route->pattern, "/*") << "a file of that name";
    EXPECT_EQ(match.candidates[1].route->pattern, "/players/a.html");
}

TEST(HttpRouter, Captures) {
    HttpRouter router = make_router();
    auto match = router.match(Method::kGet, "/api/v1/streams/7");
    HttpRequest request;
    request.captures = match.candidates[0].captures;
    EXPECT_EQ(request.capture("id"), "7");
    EXPECT_EQ(request.capture("other"), "");
    EXPECT_EQ(router.match(Method::kGet, "/console/a/b").candidates[0].captures[0].second, "a/b");
    EXPECT_EQ(router.match(Method::kGet, "/a/").candidates[0].captures[0].second, "a/");
}

TEST(HttpRouter, NoSuchPath) {
    HttpRouter router;
    auto match = router.match(Method::kGet, "/a");
    EXPECT_TRUE(match.candidates.empty());
    EXPECT_TRUE(match.allowed.empty());
}

}  // namespace
}  // namespace net

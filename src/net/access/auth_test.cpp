#include "net/access/auth.h"

#include <gtest/gtest.h>

namespace net {
namespace {

HttpRequest request_from(std::string ip, std::string host = "localhost") {
    HttpRequest request;
    request.peer_ip = std::move(ip);
    request.message.host = std::move(host);
    return request;
}

TEST(Auth, PrivilegedIsForThisMachineAlone) {
    const config::HttpApi none;
    const auto status = [&](const HttpRequest& request) {
        EXPECT_EQ(evaluate(ApiAccess::kRead, request, none).status, 0);
        return evaluate(ApiAccess::kPrivileged, request, none).status;
    };
    EXPECT_EQ(status(request_from("127.0.0.1")), 0);
    EXPECT_EQ(status(request_from("127.8.0.1", "127.0.0.1")), 0);
    EXPECT_EQ(status(request_from("::1", "::1")), 0);
    EXPECT_EQ(status(request_from("192.0.2.1")), 403);
    EXPECT_EQ(status(request_from("::ffff:192.0.2.1")), 403);
    EXPECT_EQ(status(request_from("2001:db8::1")), 403);
    // A web page in a browser of this machine.
    EXPECT_EQ(status(request_from("127.0.0.1", "evil.example")), 403);
    EXPECT_EQ(status(request_from("127.0.0.1", "127.evil.example")), 403);
    auto page = request_from("127.0.0.1");
    page.message.headers.add("Origin", "http://evil.example");
    EXPECT_EQ(status(page), 403);
    auto image = request_from("127.0.0.1");
    image.message.headers.add("Sec-Fetch-Site", "cross-site");
    EXPECT_EQ(status(image), 403);
    // X-Forwarded-For makes no client local.
    auto forged = request_from("192.0.2.1");
    forged.message.headers.add("X-Forwarded-For", "127.0.0.1");
    EXPECT_EQ(status(forged), 403);
}

// The process that passes it on has checked who asks.
TEST(Auth, WhatTheOtherProcessPassesOnIsAllowed) {
    config::HttpApi api;
    api.auth.enabled = true;
    auto passed = request_from("192.0.2.1");
    passed.message.headers.add("X-Sees-Secrets", "1");
    EXPECT_EQ(evaluate(ApiAccess::kPrivileged, passed, api).status, 401) << "by a client";
    EXPECT_FALSE(may_see_secrets(passed, api));
    passed.is_of_other_process = true;
    EXPECT_EQ(evaluate(ApiAccess::kPrivileged, passed, api).status, 0);
    EXPECT_TRUE(may_see_secrets(passed, api));
    passed.message.headers.clear();
    EXPECT_FALSE(may_see_secrets(passed, api));
}

// A request through a proxy on this machine is not local.
TEST(Auth, WhatCameThroughAProxyIsNotLocal) {
    for (const char* field : {"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"}) {
        auto proxied = request_from("127.0.0.1");
        proxied.message.headers.add(field, "127.0.0.1");
        EXPECT_EQ(evaluate(ApiAccess::kPrivileged, proxied, {}).status, 403) << field;
        EXPECT_EQ(evaluate(ApiAccess::kRead, proxied, {}).status, 0) << field;
    }
}

using Fields = std::vector<std::pair<const char*, const char*>>;

TEST(Auth, AddressesThatAreNamedMayChangeToo) {
    config::HttpApi api;
    api.control.allow = {*base::IpNetwork::parse("10.0.0.0/8"), *base::IpNetwork::parse("2001:db8::/32")};
    const auto status = [&](std::string ip, std::string host, const Fields& fields = {}) {
        auto request = request_from(std::move(ip), std::move(host));
        for (const auto& [name, value] : fields) request.message.headers.add(name, value);
        return evaluate(ApiAccess::kPrivileged, request, api).status;
    };
    EXPECT_EQ(status("10.1.2.3", "srs.internal"), 0);
    EXPECT_EQ(status("2001:db8::7", "2001:db8::1"), 0);
    EXPECT_EQ(status("::ffff:10.1.2.3", "10.0.0.1"), 0);
    EXPECT_EQ(status("11.1.2.3", "10.0.0.1"), 403);
    EXPECT_EQ(status("127.0.0.1", "localhost"), 0) << "allowed also without the list";
    EXPECT_EQ(status("10.1.2.3", "10.0.0.1", {{"X-Forwarded-For", "192.0.2.1"}}), 403)
        << "a proxy at an allowed address";
    // Requests that other sites' pages make a browser on such a machine send.
    EXPECT_EQ(status("10.1.2.3", "10.0.0.1", {{"Origin", "http://evil.example"}}), 403);
    EXPECT_EQ(status("10.1.2.3", "10.0.0.1", {{"User-Agent", "Mozilla/5.0"}}), 403);
    EXPECT_EQ(status("10.1.2.3", "10.0.0.1", {{"Referer", "http://evil.example/"}}), 403);
    EXPECT_EQ(status("10.1.2.3", "evil.example", {{"Referer", "http://evil.example/"}}), 403)
        << "a name of the page's own";
    EXPECT_EQ(status("10.1.2.3", "10.0.0.1", {{"User-Agent", "Mozilla/5.0"}, {"Referer", "http://10.0.0.1:8080/"}}), 0);
}

TEST(Auth, PagesOfThisServerMayChangeIt) {
    config::HttpApi api;
    api.control.allow = {*base::IpNetwork::parse("10.0.0.0/8")};
    // host: as the client sends it, with the port.
    const auto status = [&](std::string ip, const std::string& host, const std::string& origin,
                            const Fields& fields = {}) {
        const bool has_port = host.find(':') < host.size() && !host.ends_with(']') && host != "::1";
        auto request = request_from(std::move(ip), has_port ? host.substr(0, host.rfind(':')) : host);
        request.message.headers.add("Host", host);
        request.message.headers.add("Origin", origin);
        request.message.headers.add("User-Agent", "Mozilla/5.0");
        for (const auto& [name, value] : fields) request.message.headers.add(name, value);
        return evaluate(ApiAccess::kPrivileged, request, api).status;
    };
    EXPECT_EQ(status("127.0.0.1", "localhost:1985", "http://localhost:1985"), 0);
    EXPECT_EQ(status("127.0.0.1", "localhost:1985", "https://LOCALHOST:1985"), 0) << "any scheme, any case";
    EXPECT_EQ(status("127.0.0.1", "127.0.0.1", "http://127.0.0.1"), 0) << "the usual port";
    EXPECT_EQ(status("::1", "[::1]:1985", "http://[::1]:1985", {{"Sec-Fetch-Site", "same-origin"}}), 0);
    EXPECT_EQ(status("10.1.2.3", "10.0.0.1:1985", "http://10.0.0.1:1985"), 0);
    // Pages of other servers, on this machine too.
    EXPECT_EQ(status("127.0.0.1", "localhost:1985", "http://localhost:8080"), 403);
    EXPECT_EQ(status("127.0.0.1", "localhost:1985", "http://localhost"), 403);
    EXPECT_EQ(status("127.0.0.1", "localhost:1985", "http://127.0.0.1:1985"), 403);
    EXPECT_EQ(status("10.1.2.3", "10.0.0.1:1985", "http://10.0.0.1:8080"), 403);
    EXPECT_EQ(status("127.0.0.1", "localhost:1985", "http://localhost:1985.evil.example"), 403);
    EXPECT_EQ(status("127.0.0.1", "localhost:1985", "http://evil.example/localhost:1985"), 403);
    EXPECT_EQ(status("127.0.0.1", "localhost:1985", "null"), 403);
    EXPECT_EQ(status("127.0.0.1", "localhost:1985", "http://localhost:1985", {{"Sec-Fetch-Site", "cross-site"}}), 403);
    EXPECT_EQ(status("127.0.0.1", "", "http://"), 403) << "no address at all";
    // DNS rebinding: a name of the page's own resolves to this server, so that Origin is Host.
    EXPECT_EQ(status("127.0.0.1", "evil.example:1985", "http://evil.example:1985"), 403);
    EXPECT_EQ(status("127.0.0.1", "10.0.0.1:1985", "http://10.0.0.1:1985"), 403);
    EXPECT_EQ(status("10.1.2.3", "evil.example:1985", "http://evil.example:1985"), 403);
    EXPECT_EQ(status("10.1.2.3", "evil.example", "http://evil.example"), 403);
    EXPECT_EQ(status("11.1.2.3", "10.0.0.1:1985", "http://10.0.0.1:1985"), 403) << "not in control";
    EXPECT_EQ(status("127.0.0.1", "localhost:1985", "http://localhost:1985", {{"X-Forwarded-For", "192.0.2.1"}}), 403)
        << "through a proxy";
    api.auth = {true, "admin", "secret", {}, {}};
    EXPECT_EQ(status("192.0.2.1", "media.example", "https://media.example"), 401);
    EXPECT_EQ(
        status("192.0.2.1", "media.example", "https://media.example", {{"Authorization", "Basic YWRtaW46c2VjcmV0"}}),
        0);
}

TEST(Auth, WhoseSiteARequestIsOf) {
    const auto is_other = [](std::string host, const Fields& fields) {
        http::Request message;
        message.host = std::move(host);
        for (const auto& [name, value] : fields) message.headers.add(name, value);
        return is_of_another_site(message);
    };
    EXPECT_FALSE(is_other("h.example", {})) << "not a browser";
    EXPECT_FALSE(is_other("h.example", {{"User-Agent", "curl/8"}}));
    EXPECT_TRUE(is_other("h.example", {{"User-Agent", "Mozilla/5.0"}})) << "a browser that does not name the page";
    EXPECT_FALSE(is_other("h.example", {{"Referer", "https://h.example:8080/x"}}));
    EXPECT_TRUE(is_other("h.example", {{"Referer", "http://g.example/h.example"}}));
    EXPECT_TRUE(is_other("h.example", {{"Referer", "http://h.example@g.example/"}}));
    EXPECT_FALSE(is_other("::1", {{"Referer", "http://[::1]:8080/x"}}));
    EXPECT_FALSE(is_other("h.example", {{"Origin", "http://h.example:8080"}}));
    EXPECT_TRUE(is_other("h.example", {{"Origin", "null"}}));
    EXPECT_TRUE(is_other("h.example", {{"Origin", "http://g.example"}, {"Sec-Fetch-Site", "same-site"}}));
    for (const char* same : {"same-origin", "same-site", "none"})
        EXPECT_FALSE(is_other("h.example", {{"Sec-Fetch-Site", same}, {"User-Agent", "Mozilla/5.0"}})) << same;
    EXPECT_TRUE(is_other("h.example", {{"Sec-Fetch-Site", "cross-site"}}));
}

constexpr std::string_view kAdmin = "Basic YWRtaW46c2VjcmV0";

TEST(Auth, WithoutNameOrPasswordLetsNobodyIn) {
    EXPECT_EQ(rights_of("Basic Og==", {true, "", "", {}, {}}), Rights::kNone);
    EXPECT_EQ(rights_of("Basic YWRtaW46", {true, "admin", "", {}, {}}), Rights::kNone);
    EXPECT_EQ(rights_of(kAdmin, {false, "admin", "secret", {}, {}}), Rights::kNone);
    EXPECT_EQ(rights_of(kAdmin, {true, "admin", "secret", {}, {}}), Rights::kAll);
    EXPECT_EQ(rights_of("basic   YWRtaW46c2VjcmV0", {true, "admin", "secret", {}, {}}), Rights::kAll);
}

TEST(Auth, Tokens) {
    const config::HttpApiAuth auth{true, "admin", "secret", {"all-of-it", "more"}, {"only-read", "more"}};
    EXPECT_EQ(rights_of("Bearer all-of-it", auth), Rights::kAll);
    EXPECT_EQ(rights_of("bearer only-read", auth), Rights::kRead);
    EXPECT_EQ(rights_of("Bearer more", auth), Rights::kAll);
    for (const char* bad : {"Bearer", "Bearer ", "Bearer all-of-i", "Bearer all-of-it ", "Basic all-of-it", "all-of-it",
                            "", "Bearer YWRtaW46c2VjcmV0", "Digest x", "Bearer secret"})
        EXPECT_EQ(rights_of(bad, auth), Rights::kNone) << bad;
    auto request = request_from("192.0.2.1");
    request.message.headers.add("Authorization", "Bearer only-read");
    config::HttpApi api;
    api.auth = auth;
    api.control.allow = {*base::IpNetwork::parse("10.0.0.0/8")};
    EXPECT_EQ(evaluate(ApiAccess::kRead, request, api).status, 0);
    EXPECT_EQ(evaluate(ApiAccess::kPrivileged, request, api).status, 403);
    for (const char* ip : {"127.0.0.1", "10.0.0.1"})
        EXPECT_EQ(evaluate(ApiAccess::kPrivileged, request_from(ip), api).status, 401)
            << "auth applies to all addresses";
    EXPECT_EQ(evaluate(ApiAccess::kOpen, request_from("192.0.2.1"), api).status, 0);
}

// As in SRS 8, beside the lists of tokens.
TEST(Auth, ALoginHasAName) {
    config::HttpApiAuth auth;
    auth.enabled = true;
    auth.username = "u";
    auth.password = "p";
    auth.tokens = {"one", "two"};
    auth.read_tokens = {"reading"};
    auth.token = "of SRS 8";
    const struct {
        const char *authorization, *name;
    } rows[] = {{"Basic dTpw", "u"},          {"Bearer two", "token 2"},
                {"bearer  one", "token 1"},   {"Bearer reading", "read token 1"},
                {"Bearer of SRS 8", "token"}, {"Bearer three", ""},
                {"Basic eDp5", ""},           {"", ""}};
    for (const auto& row : rows) EXPECT_EQ(login_of(row.authorization, auth), row.name) << row.authorization;
    auth.enabled = false;
    EXPECT_EQ(login_of("Bearer two", auth), "");
}

TEST(Auth, TypesOfSrs8) {
    config::HttpApiAuth auth{.enabled = true, .username = "admin", .password = "secret", .tokens = {"more"}};
    auth.token = "srs-api-token";
    auth.type = "bearer";
    EXPECT_EQ(rights_of("Bearer srs-api-token", auth), Rights::kAll);
    EXPECT_EQ(rights_of("Bearer more", auth), Rights::kAll);
    EXPECT_EQ(rights_of(kAdmin, auth), Rights::kNone);
    EXPECT_EQ(challenge(auth), "Bearer") << "a browser shows no sign-in box for it";
    auth.type = "basic";
    EXPECT_EQ(rights_of("Bearer srs-api-token", auth), Rights::kNone);
    EXPECT_EQ(rights_of(kAdmin, auth), Rights::kAll);
    EXPECT_TRUE(challenge(auth).starts_with("Basic "));
    auth.type = "";
    EXPECT_EQ(rights_of("Bearer srs-api-token", auth), Rights::kAll);
    EXPECT_EQ(rights_of(kAdmin, auth), Rights::kAll);
    auth.token = "";
    EXPECT_EQ(rights_of("Bearer ", auth), Rights::kNone);
}

TEST(Auth, SignallingNeedsTheTokenWhereItIsAskedFor) {
    config::HttpApiAuth auth{.enabled = true, .read_tokens = {"only-read"}, .type = "bearer", .token = "all"};
    http::Request none, reader, right;
    reader.headers.add("Authorization", "Bearer only-read");
    right.headers.add("Authorization", "Bearer all");
    EXPECT_TRUE(may_signal(none, auth));
    auth.rtc_bearer_enabled = true;
    EXPECT_FALSE(may_signal(none, auth));
    EXPECT_FALSE(may_signal(reader, auth));
    EXPECT_TRUE(may_signal(right, auth));
    auth.enabled = false;
    EXPECT_TRUE(may_signal(none, auth));
}

// A browser adds the name and password of its own login to requests from every page, but no token.
TEST(Auth, PagesOfOtherSitesNeedAToken) {
    config::HttpApi api;
    api.auth = {.enabled = true, .username = "u", .password = "p", .tokens = {"secret"}};
    const auto status = [&](const char* authorization, const Fields& fields) {
        auto request = request_from("192.0.2.1", "media.example");
        request.message.headers.add("Authorization", authorization);
        for (const auto& [name, value] : fields) request.message.headers.add(name, value);
        EXPECT_EQ(evaluate(ApiAccess::kRead, request, api).status, 0);
        return evaluate(ApiAccess::kPrivileged, request, api).status;
    };
    constexpr const char* kBasic = "basic dTpw";
    for (const Fields& foreign : {Fields{{"Origin", "https://evil.example"}}, Fields{{"Origin", "null"}},
                                  Fields{{"Sec-Fetch-Site", "cross-site"}}, Fields{{"Referer", "http://evil.example/"}},
                                  Fields{{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}}}) {
        EXPECT_EQ(status(kBasic, foreign), 403) << foreign.front().second;
        EXPECT_EQ(status("Bearer secret", foreign), 0) << foreign.front().second;
    }
    // Programs, the server's own pages, the address bar, and a proxy that has changed Host.
    for (const Fields& own : {Fields{{"User-Agent", "curl/8.0"}}, Fields{{"Origin", "http://media.example:8080"}},
                              Fields{{"User-Agent", "Mozilla/5.0"}}, Fields{{"Sec-Fetch-Site", "none"}},
                              Fields{{"Origin", "https://proxy.example"}, {"Sec-Fetch-Site", "same-origin"}}})
        EXPECT_EQ(status(kBasic, own), 0) << own.front().second;
}

TEST(Auth, WhoIsAnOperator) {
    config::HttpApi off, on;
    on.auth = {true, "admin", "secret", {}, {"only-read"}};
    off.control.allow = {*base::IpNetwork::parse("10.0.0.0/8")};
    auto local = request_from("127.0.0.1"), far = request_from("192.0.2.1");
    EXPECT_TRUE(is_operator(local.message, "127.0.0.1", off));
    EXPECT_TRUE(is_operator(local.message, "::1", on)) << "the request is answered, though only with 401";
    EXPECT_FALSE(is_operator(local.message, "192.0.2.1", off));
    EXPECT_TRUE(is_operator(local.message, "10.1.2.3", off));
    local.message.headers.add("X-Forwarded-For", "192.0.2.1");
    EXPECT_FALSE(is_operator(local.message, "127.0.0.1", off));
    EXPECT_FALSE(is_operator(local.message, "10.1.2.3", off));
    far.message.headers.add("Authorization", "Bearer only-read");
    EXPECT_TRUE(is_operator(far.message, "192.0.2.1", on));
    EXPECT_FALSE(is_operator(far.message, "192.0.2.1", off));
}

}  // namespace
}  // namespace net

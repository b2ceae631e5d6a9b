#include "net/auth.h"

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
    const config::HttpApiAuth none;
    const auto status = [&](const HttpRequest& request) {
        EXPECT_EQ(judge(ApiAccess::kRead, request, none).status, 0);
        return judge(ApiAccess::kPrivileged, request, none).status;
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
    // X-Forwarded-For makes nobody local.
    auto forged = request_from("192.0.2.1");
    forged.message.headers.add("X-Forwarded-For", "127.0.0.1");
    EXPECT_EQ(status(forged), 403);
}

// A proxy on this machine is not this machine.
TEST(Auth, WhatCameThroughAProxyIsNotLocal) {
    for (const char* field : {"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"}) {
        auto proxied = request_from("127.0.0.1");
        proxied.message.headers.add(field, "127.0.0.1");
        EXPECT_EQ(judge(ApiAccess::kPrivileged, proxied, {}).status, 403) << field;
        EXPECT_EQ(judge(ApiAccess::kRead, proxied, {}).status, 0) << field;
    }
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
    EXPECT_EQ(judge(ApiAccess::kRead, request, auth).status, 0);
    EXPECT_EQ(judge(ApiAccess::kPrivileged, request, auth).status, 403);
    EXPECT_EQ(judge(ApiAccess::kPrivileged, request_from("127.0.0.1"), auth).status, 401) << "auth is for all";
    EXPECT_EQ(judge(ApiAccess::kOpen, request_from("192.0.2.1"), auth).status, 0);
}

TEST(Auth, WhoIsAnOperator) {
    const config::HttpApiAuth off{}, on{true, "admin", "secret", {}, {"only-read"}};
    auto local = request_from("127.0.0.1"), far = request_from("192.0.2.1");
    EXPECT_TRUE(is_operator(local.message, "127.0.0.1", off));
    EXPECT_TRUE(is_operator(local.message, "::1", on)) << "it is answered, if only with 401";
    EXPECT_FALSE(is_operator(local.message, "192.0.2.1", off));
    local.message.headers.add("X-Forwarded-For", "192.0.2.1");
    EXPECT_FALSE(is_operator(local.message, "127.0.0.1", off));
    far.message.headers.add("Authorization", "Bearer only-read");
    EXPECT_TRUE(is_operator(far.message, "192.0.2.1", on));
    EXPECT_FALSE(is_operator(far.message, "192.0.2.1", off));
}

}  // namespace
}  // namespace net

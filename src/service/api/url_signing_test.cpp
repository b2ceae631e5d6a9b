#include "service/api/url_signing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/clock.h"
#include "net/access/signed_urls.h"
#include "service/api/service_testing.h"

namespace service::api {
namespace {

class UrlSigningTest : public testing::ApiTest {
  protected:
    void enable() {
        auto next = std::make_shared<config::Snapshot>(*snapshot_);
        for (config::Vhost& vhost : next->vhosts) {
            vhost.signed_urls.enabled = true;
            vhost.signed_urls.publish = false;
            vhost.signed_urls.secret = {"new-secret", "old-secret"};
        }
        ASSERT_FALSE(next->vhosts.empty());
        name_ = next->vhosts.front().name;
        options_ = next->vhosts.front().signed_urls;
        service_->reload(next);
    }
    net::testing::Answer post(std::string_view body, std::string_view fields = "") {
        return ask("/api/v1/signed_urls", fields, "POST", body);
    }
    Json sign(std::string_view body) { return Json::parse(post(body).body, nullptr, false); }

    std::string name_;
    config::VhostSignedUrls options_;
};

TEST_F(UrlSigningTest, WhatItSignsIsAdmittedForThatAlone) {
    enable();
    const int64_t now_s = base::wall_ms() / 1000;
    const Json made =
        sign(R"({"app":"live/deep","stream":"cam 1","seconds":600,"ip":"2001:DB8::1","name":"a&b c","action":"play"})");
    EXPECT_EQ(made["code"], 0) << made;
    EXPECT_EQ(made["required"], true);
    EXPECT_NEAR(made["expires"].get<double>(), static_cast<double>(now_s + 600), 5);
    net::Visitor visitor{};
    visitor.vhost = name_;
    visitor.app = "live/deep";
    visitor.stream = "cam 1";
    visitor.ip = "2001:db8::1";
    visitor.param = "?" + made["query"].get<std::string>();
    EXPECT_TRUE(testing::ok(net::verify_signed_url(options_, visitor, now_s)));
    EXPECT_EQ(net::signed_name(options_, false, visitor.param), "a&b c");
    EXPECT_FALSE(net::verify_signed_url(options_, visitor, now_s + 700));
    net::Visitor other = visitor;
    other.stream = "cam 2";
    EXPECT_FALSE(net::verify_signed_url(options_, other, now_s));
    other = visitor;
    other.action = net::Action::kPublish;
    EXPECT_FALSE(net::verify_signed_url(options_, other, now_s));
    other = visitor;
    other.ip = "2001:db8::2";
    EXPECT_FALSE(net::verify_signed_url(options_, other, now_s));
    // By the first secret: the others are those that are being replaced.
    options_.secret = {"old-secret"};
    EXPECT_FALSE(net::verify_signed_url(options_, visitor, now_s));
    EXPECT_EQ(sign(R"({"app":"live","stream":"a","action":"publish"})")["required"], false);
}

TEST_F(UrlSigningTest, TheSecretIsInNoAnswer) {
    enable();
    EXPECT_EQ(post(R"({"app":"live","stream":"a"})").body.find("secret"), std::string::npos);
}

TEST_F(UrlSigningTest, RefusesWhatItCannotSign) {
    EXPECT_EQ(post(R"({"app":"live","stream":"a"})").status, 409) << "the vhost has no signed_urls";
    enable();
    EXPECT_EQ(post(R"({"vhost":"nothing.example","app":"live","stream":"a"})").status, 404);
    for (const char* body :
         {"", "[]", "{", R"({"app":"live"})", R"({"stream":"a"})", R"({"app":"live","stream":"a\nb"})",
          R"({"app":"live","stream":"../a"})", R"({"app":"live","stream":"a","seconds":0})",
          R"({"app":"live","stream":"a","seconds":-1})", R"({"app":"live","stream":"a","seconds":1.5})",
          R"({"app":"live","stream":"a","seconds":31622401})",
          R"({"app":"live","stream":"a","seconds":18446744073709551615})",
          R"({"app":"live","stream":"a","action":"watch"})", R"({"app":"live","stream":"a","ip":"192.0.2.1\n"})",
          R"({"app":"live","stream":"a","name":"x\ny"})", R"({"app":"live","stream":"a","more":1})", R"({"app":1})"})
        EXPECT_EQ(post(body).status, 400) << body;
    const std::string name(65, 'n');
    EXPECT_EQ(post(R"({"app":"live","stream":"a","name":")" + name + "\"}").status, 400);
}

// A page of another site, and a client behind a proxy, would get URLs as if the operator had made them.
TEST_F(UrlSigningTest, IsForCallersWhoMayChangeSomething) {
    enable();
    constexpr std::string_view kBody = R"({"app":"live","stream":"a"})";
    for (const char* stranger : {"X-Forwarded-For: 192.0.2.1\r\n", "Origin: http://a.example\r\n"})
        EXPECT_EQ(post(kBody, stranger).status, 403) << stranger;
    EXPECT_EQ(ask("/api/v1/signed_urls").status, 405) << "no GET: a script element could read it";
    EXPECT_EQ(post(kBody).status, 200);
}

TEST_F(UrlSigningTest, TheConfigurationOfOneVhost) {
    auto next = std::make_shared<config::Snapshot>(*snapshot_);
    next->vhosts.push_back({.name = "two.example"});
    service_->reload(next);
    const auto vhosts_of = [&](std::string_view query) {
        std::set<std::string> found;
        const Json answer = json(fmt::format("/api/v1/config?count=10000{}", query));
        for (const Json& one : answer["directives"]) found.insert(one["vhost"]);
        return found;
    };
    EXPECT_EQ(vhosts_of("&vhost=two.example"), (std::set<std::string>{"", "two.example"}));
    EXPECT_EQ(vhosts_of("&vhost=nothing"), (std::set<std::string>{""}));
    EXPECT_EQ(vhosts_of("").size(), next->vhosts.size() + 1);
}

}  // namespace
}  // namespace service::api

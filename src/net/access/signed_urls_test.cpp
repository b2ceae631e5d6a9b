#include "net/access/signed_urls.h"

#include <gtest/gtest.h>

#include "net/access/hmac.h"

namespace net {
namespace {

class SignedUrlsTest : public ::testing::Test {
  protected:
    SignedUrlsTest() {
        options_.secret = {"new", "old"};
        visitor_.action = Action::kPlay;
        visitor_.vhost = "v";
        visitor_.app = "live";
        visitor_.stream = "cam";
        visitor_.ip = "192.0.2.7";
    }
    std::string verdict(std::string param) {
        visitor_.param = std::move(param);
        auto verified = verify_signed_url(options_, visitor_, 1'000);
        return verified ? "good" : verified.error().text();
    }
    static std::string sign(std::string_view text, std::string_view secret = "new") {
        return hmac_sha256_hex(secret, text);
    }
    config::VhostSignedUrls options_;
    Visitor visitor_;
};

TEST_F(SignedUrlsTest, GoodUntilItExpires) {
    EXPECT_EQ(verdict("?expires=1000&sign=" + sign("play\nv/live/cam\n1000\n")), "good");
    EXPECT_EQ(verdict("?a=b&sign=" + sign("play\nv/live/cam\n1001\n", "old") + "&expires=1001"), "good");
    EXPECT_EQ(verdict("?expires=999&sign=" + sign("play\nv/live/cam\n999\n")), "the URL has expired");
    EXPECT_EQ(verdict("?expires=1e9&sign=" + sign("play\nv/live/cam\n1e9\n")), "the URL has expired");
}

TEST_F(SignedUrlsTest, ForThisAlone) {
    const std::string wrong = "the URL's signature is wrong";
    EXPECT_EQ(verdict(""), "the URL is not signed");
    EXPECT_EQ(verdict("?expires=2000"), "the URL is not signed");
    EXPECT_EQ(verdict("?expires=2000&sign=00"), wrong);
    EXPECT_EQ(verdict("?expires=2000&sign=" + sign("play\nv/live/cam\n2000\n", "another")), wrong);
    EXPECT_EQ(verdict("?expires=2001&sign=" + sign("play\nv/live/cam\n2000\n")), wrong);
    EXPECT_EQ(verdict("?expires=2000&sign=" + sign("publish\nv/live/cam\n2000\n")), wrong);
    EXPECT_EQ(verdict("?expires=2000&sign=" + sign("play\nv/live/cam2\n2000\n")), wrong);
    EXPECT_EQ(verdict("?expires=2000&sign=" + sign("play\nw/live/cam\n2000\n")), wrong);
}

TEST_F(SignedUrlsTest, BoundToAnAddress) {
    std::string bound = "&ip=192.0.2.7&sign=" + sign("play\nv/live/cam\n2000\n192.0.2.7");
    EXPECT_EQ(verdict("?expires=2000" + bound), "good");
    visitor_.ip = "192.0.2.8";
    EXPECT_EQ(verdict("?expires=2000" + bound), "the URL is signed for another address");
    // Omitting the address does not help.
    EXPECT_EQ(verdict("?expires=2000&sign=" + sign("play\nv/live/cam\n2000\n192.0.2.7")),
              "the URL's signature is wrong");
}

TEST_F(SignedUrlsTest, ANameIsCoveredBySignature) {
    const std::string wrong = "the URL's signature is wrong";
    const std::string named = sign("play\nv/live/cam\n2000\n\nacme"), plain = sign("play\nv/live/cam\n2000\n");
    EXPECT_EQ(verdict("?expires=2000&sign_name=acme&sign=" + named), "good");
    EXPECT_EQ(verdict("?expires=2000&sign_name=other&sign=" + named), wrong);
    EXPECT_EQ(verdict("?expires=2000&sign=" + named), wrong);
    EXPECT_EQ(verdict("?expires=2000&sign_name=acme&sign=" + plain), wrong);
    EXPECT_EQ(verdict("?expires=2000&sign_name=&sign=" + plain), "good");
    EXPECT_EQ(verdict("?expires=2000&ip=%0aacme&sign=" + named), "the URL is signed for another address");
    const std::string longest(65, 'x');
    EXPECT_EQ(verdict("?expires=2000&sign_name=" + longest + "&sign=" + sign("play\nv/live/cam\n2000\n\n" + longest)),
              "the URL's sign_name is too long");
}

TEST_F(SignedUrlsTest, ANameCountsWhereUrlsAreSigned) {
    const struct {
        bool enabled, publish, play, publishes;
        const char *param, *name;
    } rows[] = {{true, true, true, false, "?a=b&sign_name=acme", "acme"},
                {true, true, true, true, "sign_name=acme&x=y", "acme"},
                {true, false, true, true, "?sign_name=acme", ""},
                {true, true, false, false, "?sign_name=acme", ""},
                {false, true, true, false, "?sign_name=acme", ""},
                {true, true, true, false, "?assign_name=acme", ""},
                {true, true, true, false, "", ""}};
    for (const auto& row : rows) {
        options_.enabled = row.enabled;
        options_.publish = row.publish;
        options_.play = row.play;
        EXPECT_EQ(signed_name(options_, row.publishes, row.param), row.name) << row.param;
    }
}

TEST_F(SignedUrlsTest, WhatIsNotConfiguredIsOpen) {
    config::Vhost vhost;
    vhost.signed_urls = options_;
    SignedUrls guard;
    EXPECT_TRUE(guard.admit(visitor_, vhost));
    vhost.signed_urls.enabled = vhost.signed_urls.publish = true;
    EXPECT_TRUE(guard.admit(visitor_, vhost));
    EXPECT_FALSE(guard.guards_parts(vhost));
    vhost.signed_urls.play = true;
    EXPECT_FALSE(guard.admit(visitor_, vhost));
    EXPECT_TRUE(guard.guards_parts(vhost));
    visitor_.action = Action::kConnect;
    EXPECT_TRUE(guard.admit(visitor_, vhost));
}

}  // namespace
}  // namespace net

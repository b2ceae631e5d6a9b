#include "net/access/access_rules.h"

#include <gtest/gtest.h>

#include "config/value.h"

namespace net {
namespace {

using config::AccessRules;

AccessRules rules(std::string_view text) {
    if (text.empty()) return {};
    auto words = config::split_words(text);
    auto parsed = config::ValueType<AccessRules>::parse(words, config::none());
    EXPECT_TRUE(parsed) << text;
    return parsed ? *parsed : AccessRules{};
}

bool plays(const config::VhostSecurity& s, std::string_view ip) {
    return check_address(s, Action::kPlay, ip).has_value();
}
bool publishes(const config::VhostSecurity& s, std::string_view ip) {
    return check_address(s, Action::kPublish, ip).has_value();
}

TEST(AddressRules, OffLetsEverybodyIn) {
    config::VhostSecurity s{false, {}, rules("play all publish all")};
    EXPECT_TRUE(plays(s, "192.0.2.1"));
    EXPECT_TRUE(publishes(s, ""));
}

TEST(AddressRules, OnWithoutARuleLetsNobodyIn) {
    config::VhostSecurity s{true, {}, {}};
    EXPECT_FALSE(plays(s, "127.0.0.1"));
    EXPECT_FALSE(publishes(s, "127.0.0.1"));
}

TEST(AddressRules, WithAllowOnlyWhoFitsComesIn) {
    config::VhostSecurity s{true, rules("play all publish 10.0.0.0/8 publish 2001:db8::/32"), {}};
    EXPECT_TRUE(plays(s, "192.0.2.1"));
    EXPECT_TRUE(plays(s, "no address"));  // all matches any text
    EXPECT_TRUE(publishes(s, "10.1.2.3"));
    EXPECT_TRUE(publishes(s, "2001:db8::1"));
    EXPECT_FALSE(publishes(s, "11.1.2.3"));
    EXPECT_FALSE(publishes(s, "2001:db9::1"));
    EXPECT_FALSE(publishes(s, "no address"));
    // An allow for one action does not apply to the other.
    EXPECT_FALSE(publishes({true, rules("play all"), {}}, "10.1.2.3"));
}

TEST(AddressRules, WithDenyOnlyTheOthersComeIn) {
    config::VhostSecurity s{true, {}, rules("publish all play 192.0.2.0/24")};
    EXPECT_FALSE(publishes(s, "127.0.0.1"));
    EXPECT_FALSE(plays(s, "192.0.2.77"));
    EXPECT_FALSE(plays(s, "::ffff:192.0.2.77"));
    EXPECT_TRUE(plays(s, "192.0.3.1"));
    EXPECT_TRUE(plays(s, "::1"));
}

TEST(AddressRules, DenyCountsBeforeAllow) {
    config::VhostSecurity s{true, rules("play all publish 10.0.0.0/8"), rules("play 10.6.6.6 publish 10.6.0.0/16")};
    EXPECT_FALSE(plays(s, "10.6.6.6"));
    EXPECT_TRUE(plays(s, "10.6.6.7"));
    EXPECT_FALSE(publishes(s, "10.6.1.1"));
    EXPECT_TRUE(publishes(s, "10.7.1.1"));
    EXPECT_EQ(check_address(s, Action::kPlay, "10.6.6.6").error().text(),
              "play from 10.6.6.6 is denied by the rule deny play 10.6.6.6");
    EXPECT_EQ(check_address(s, Action::kPublish, "1.1.1.1").error().text(),
              "publish from 1.1.1.1 is allowed by none of 2 rules");
}

TEST(AddressRules, OfPlayersByHttp) {
    config::Vhost vhost;
    EXPECT_TRUE(check_play(vhost, "", ""));
    vhost.security = {true, {}, rules("play 10.0.0.0/8")};
    vhost.refer = {true, {"a.example"}, {}, {}};
    EXPECT_TRUE(check_play(vhost, "11.0.0.1", "http://a.example/"));
    EXPECT_EQ(check_play(vhost, "10.0.0.1", "http://a.example/").error().close_reason(),
              base::CloseReason::kRefusedAddress);
    EXPECT_EQ(check_play(vhost, "11.0.0.1", "http://b.example/").error().close_reason(),
              base::CloseReason::kRefusedRefer);
    http::Headers headers;
    headers.add("Origin", "http://o.example");
    EXPECT_EQ(page_of(headers), "http://o.example");
    headers.add("Referer", "http://r.example/");
    EXPECT_EQ(page_of(headers), "http://r.example/");
    for (const char* media : {"/live/a.TS", "/x.flv", "a.m3u8", "/rec/a.mp4", "/k.key"})
        EXPECT_TRUE(is_media_file(media));
    for (const char* other : {"/", "/index.html", "/ts", "/a.ts/b", "/a.js"}) EXPECT_FALSE(is_media_file(other));
}

TEST(Refer, PageHost) {
    struct {
        const char* url;
        const char* host;
    } const kCases[] = {
        {"http://www.Example.com:8080/a?b#c", "www.example.com"},
        {"https://example.com", "example.com"},
        {"example.com/x", "example.com"},
        {"https://example.com?x=http://other.example/", "example.com"},
        {"https://good.example@evil.example/", "evil.example"},
        {"https://evil.example\\@good.example/", "evil.example"},
        {"https://evil.example#.good.example", "evil.example"},
        {"https://example.com./", "example.com"},
        {"https://[2001:DB8::1]:80/", "[2001:db8::1]"},
        {"", ""},
        {"http://", ""},
        {"/x", ""},
        {"[", ""},
    };
    for (auto& [url, host] : kCases) EXPECT_EQ(page_host(url), host) << url;
}

bool may_play(const config::VhostRefer& refer, std::string_view page) {
    return check_refer(refer, Action::kPlay, page).has_value();
}
bool may_publish(const config::VhostRefer& refer, std::string_view page) {
    return check_refer(refer, Action::kPublish, page).has_value();
}

TEST(Refer, DomainsAndWhatIsBelowThem) {
    config::VhostRefer refer{true, {"example.com", ".Example.org"}, {}, {}};
    for (const char* good :
         {"http://example.com/", "https://www.example.com:8443/p", "http://EXAMPLE.org/x", "https://a.b.example.org"})
        EXPECT_TRUE(may_play(refer, good) && may_publish(refer, good)) << good;
    for (const char* bad : {"", "http://evilexample.com/", "http://example.com.evil.example/", "http://example.net/",
                            "http://evil.example/?http://example.com", "http://example.com@evil.example/"})
        EXPECT_FALSE(may_play(refer, bad) || may_publish(refer, bad)) << bad;
}

TEST(Refer, ListsForEachAction) {
    EXPECT_TRUE(may_play({false, {"a.example"}, {}, {}}, "http://b.example/"));
    EXPECT_TRUE(may_play({true, {}, {}, {}}, ""));  // no list requires nothing
    config::VhostRefer refer{true, {}, {"p.example"}, {"v.example"}};
    EXPECT_TRUE(may_play(refer, "http://v.example/"));
    EXPECT_FALSE(may_play(refer, "http://p.example/"));
    EXPECT_TRUE(may_publish(refer, "http://p.example/"));
    EXPECT_FALSE(may_publish(refer, "http://v.example/"));
    // Both lists must match.
    refer = {true, {"a.example"}, {}, {"www.a.example"}};
    EXPECT_TRUE(may_play(refer, "http://www.a.example/"));
    EXPECT_FALSE(may_play(refer, "http://a.example/"));
    EXPECT_TRUE(may_publish(refer, "http://a.example/"));
    EXPECT_EQ(check_refer(refer, Action::kPlay, "").error().text(),
              "play without a web page, where refer asks for one");
    EXPECT_FALSE(may_play({true, {"."}, {}, {}}, "http://a.example/"));  // an empty domain matches nothing
}

}  // namespace
}  // namespace net

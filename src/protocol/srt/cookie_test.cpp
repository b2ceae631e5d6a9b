#include "protocol/srt/cookie.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace srt {
namespace {

base::Endpoint endpoint(std::string_view ip, uint16_t port) {
    return {.ip = *base::IpAddress::parse(ip), .port = port};
}

// The vectors of the reference implementation: the key is 00 to 0f, the text 00, 01, 02 and so on.
TEST(SrtCookie, SipHashAsTheReference) {
    CookieSecret key;
    std::iota(key.begin(), key.end(), uint8_t{0});
    std::vector<uint8_t> text(15);
    std::iota(text.begin(), text.end(), uint8_t{0});
    EXPECT_EQ(sip_hash(key, {}), 0x726fdb47dd0e0e31u);
    EXPECT_EQ(sip_hash(key, std::span(text).first(8)), 0x93f5f5799a932462u);
    EXPECT_EQ(sip_hash(key, text), 0xa129ca6149be45e5u);
}

TEST(SrtCookie, IsValidInItsMinuteAndTheNext) {
    const CookieSecret secret{1, 2, 3};
    const auto from = endpoint("192.0.2.1", 9000);
    constexpr int64_t kMinute = 60'000'000;
    const uint32_t cookie = make_cookie(secret, from, 5 * kMinute);
    EXPECT_TRUE(is_cookie(cookie, secret, from, 5 * kMinute));
    EXPECT_TRUE(is_cookie(cookie, secret, from, 7 * kMinute - 1));
    EXPECT_FALSE(is_cookie(cookie, secret, from, 7 * kMinute));
    EXPECT_FALSE(is_cookie(cookie, secret, from, 5 * kMinute - 1));
}

TEST(SrtCookie, DependsOnAddressPortAndSecret) {
    const CookieSecret secret{1, 2, 3};
    std::set<uint32_t> cookies;
    for (const auto& from : {endpoint("192.0.2.1", 9000), endpoint("192.0.2.1", 9001), endpoint("192.0.2.2", 9000),
                             endpoint("2001:db8::1", 9000)}) {
        cookies.insert(make_cookie(secret, from, 0));
        cookies.insert(make_cookie(CookieSecret{1, 2, 4}, from, 0));
        EXPECT_FALSE(is_cookie(0, secret, from, 0));
    }
    EXPECT_EQ(cookies.size(), 8u);
}

}  // namespace
}  // namespace srt

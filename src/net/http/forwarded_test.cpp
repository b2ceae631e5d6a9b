#include "net/http/forwarded.h"

#include <gtest/gtest.h>

namespace net {
namespace {

std::string ip_of(const std::string& peer, std::initializer_list<std::string> fields,
                  std::initializer_list<std::string_view> trusted = {"127.0.0.1", "10.0.0.0/8", "2001:db8::/32"}) {
    http::Headers headers;
    for (const std::string& field : fields) headers.add("x-forwarded-for", field);
    std::vector<base::IpNetwork> networks;
    for (std::string_view text : trusted) networks.push_back(*base::IpNetwork::parse(text));
    return client_ip(peer, headers, networks);
}

TEST(Forwarded, OnlyFromTrustedProxies) {
    EXPECT_EQ(ip_of("192.0.2.1", {"198.51.100.7"}), "192.0.2.1");
    EXPECT_EQ(ip_of("127.0.0.1", {"198.51.100.7"}), "198.51.100.7");
    EXPECT_EQ(ip_of("127.0.0.1", {"198.51.100.7"}, {}), "127.0.0.1");
    EXPECT_EQ(ip_of("127.0.0.1", {}), "127.0.0.1");
    EXPECT_EQ(ip_of("::ffff:10.1.2.3", {"198.51.100.7"}), "198.51.100.7");
}

TEST(Forwarded, TheRightmostThatIsNoProxyOfOurs) {
    EXPECT_EQ(ip_of("127.0.0.1", {"1.1.1.1, 198.51.100.7"}), "198.51.100.7")
        << "addresses to its left may be forged by it";
    EXPECT_EQ(ip_of("127.0.0.1", {"1.1.1.1,198.51.100.7 , 10.9.9.9"}), "198.51.100.7");
    EXPECT_EQ(ip_of("127.0.0.1", {"1.1.1.1", "198.51.100.7", "10.9.9.9"}), "198.51.100.7")
        << "several fields are one list";
    EXPECT_EQ(ip_of("127.0.0.1", {"127.0.0.1, 198.51.100.7"}), "198.51.100.7");
    EXPECT_EQ(ip_of("127.0.0.1", {"10.1.1.1, 10.2.2.2"}), "10.1.1.1") << "all of them are trusted proxies";
}

TEST(Forwarded, PortsAndIpv6) {
    EXPECT_EQ(ip_of("127.0.0.1", {"198.51.100.7:4711"}), "198.51.100.7");
    EXPECT_EQ(ip_of("127.0.0.1", {"[2001:db9::1]:443"}), "2001:db9::1");
    EXPECT_EQ(ip_of("2001:db8::9", {"2001:DB9:0::1"}), "2001:db9::1");
}

TEST(Forwarded, WhatIsNoAddressEndsTheSearch) {
    for (const char* bad : {"unknown", "", ",", "1.2.3", "198.51.100.7;", "[", "[::1", "evil\t1.1.1.1", "1.1.1.1, x"})
        EXPECT_EQ(ip_of("127.0.0.1", {bad}), bad == std::string("[::1") ? "::1" : "127.0.0.1") << bad;
    EXPECT_EQ(ip_of("127.0.0.1", {"1.1.1.1, nonsense, 10.0.0.5"}), "10.0.0.5");
}

}  // namespace
}  // namespace net

#include "base/ip.h"

#include <gtest/gtest.h>

namespace base {
namespace {

std::string again(std::string_view text) {
    auto address = IpAddress::parse(text);
    return address ? address->text() : "none";
}

std::string network(std::string_view text) {
    auto parsed = IpNetwork::parse(text);
    return parsed ? parsed->text() : "none";
}

bool holds(std::string_view net, std::string_view address) {
    return IpNetwork::parse(net).value().contains(IpAddress::parse(address).value());
}

TEST(IpAddress, ReadsAndWrites) {
    struct {
        const char* text;
        const char* written;
    } const kCases[] = {
        {"0.0.0.0", "0.0.0.0"},
        {"255.255.255.255", "255.255.255.255"},
        {"192.0.2.1", "192.0.2.1"},
        {"::ffff:192.0.2.1", "192.0.2.1"},
        {"::ffff:c000:201", "192.0.2.1"},
        {"::", "::"},
        {"::1", "::1"},
        {"1::", "1::"},
        {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
        {"2001:db8::0001", "2001:db8::1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},  // a single group is not shortened
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},           // the longest run is shortened
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},     // of equal runs the first
        {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
        {"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
        {"::1.2.3.4", "::102:304"},
        {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
    };
    for (auto& [text, written] : kCases) EXPECT_EQ(again(text), written) << text;
}

TEST(IpAddress, RefusesWhatIsNone) {
    for (const char* text : {"",
                             "1",
                             "1.2.3",
                             "1.2.3.4.5",
                             "1.2.3.256",
                             "01.2.3.4",
                             "1.2.3.04",
                             "1.2.3.",
                             ".1.2.3",
                             "1..2.3",
                             "+1.2.3.4",
                             "1.2.3.4 ",
                             " 1.2.3.4",
                             "1.2.3.4/8",
                             "0x1.2.3.4",
                             "1.2.3.-4",
                             "1000.1.1.1",
                             ":",
                             ":::",
                             "1:",
                             ":1",
                             "1::2::3",
                             "1:2:3:4:5:6:7",
                             "1:2:3:4:5:6:7:8:9",
                             "1:2:3:4:5:6:7:8::",
                             "::1:2:3:4:5:6:7:8",
                             "12345::",
                             "g::",
                             "::1%lo",
                             "[::1]",
                             "1.2.3.4::",
                             "::1.2.3",
                             "::1.2.3.4.5",
                             "1:2:3:4:5:6:7:1.2.3.4",
                             "::-1",
                             "::+1",
                             "::0x1",
                             "localhost"})
        EXPECT_EQ(again(text), "none") << text;
    EXPECT_EQ(again(std::string_view("1.2.3.4\0", 8)), "none");
}

TEST(IpAddress, KnowsItsKind) {
    auto is = [](std::string_view text) { return IpAddress::parse(text).value(); };
    EXPECT_TRUE(is("127.0.0.1").is_loopback());
    EXPECT_TRUE(is("127.255.0.9").is_loopback());
    EXPECT_TRUE(is("::ffff:127.0.0.1").is_loopback());
    EXPECT_TRUE(is("::1").is_loopback());
    EXPECT_FALSE(is("::").is_loopback());
    EXPECT_FALSE(is("128.0.0.1").is_loopback());
    EXPECT_FALSE(is("::127.0.0.1").is_loopback());  // the old IPv4-compatible form is IPv6
    EXPECT_TRUE(is("1.2.3.4").is_v4());
    EXPECT_FALSE(is("::1.2.3.4").is_v4());
}

TEST(IpNetwork, ReadsAndWrites) {
    EXPECT_EQ(network("10.1.2.3/8"), "10.0.0.0/8");
    EXPECT_EQ(network("10.1.2.3"), "10.1.2.3");
    EXPECT_EQ(network("10.1.2.3/32"), "10.1.2.3");
    EXPECT_EQ(network("10.1.2.3/31"), "10.1.2.2/31");
    EXPECT_EQ(network("0.0.0.0/0"), "0.0.0.0/0");
    EXPECT_EQ(network("2001:db8:ffff::1/33"), "2001:db8:8000::/33");
    EXPECT_EQ(network("::/0"), "::/0");
    EXPECT_EQ(network("::1"), "::1");
    EXPECT_EQ(network("::ffff:10.0.0.0/104"), "10.0.0.0/8");
    for (const char* text : {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.0/8/8", "/8",
                             "::/129", "::/x", "10.0.0/8", "all", "10.0.0.0/1000"})
        EXPECT_EQ(network(text), "none") << text;
}

TEST(IpNetwork, Contains) {
    EXPECT_TRUE(holds("10.0.0.0/8", "10.255.255.255"));
    EXPECT_FALSE(holds("10.0.0.0/8", "11.0.0.0"));
    EXPECT_FALSE(holds("10.0.0.0/8", "::a00:1"));
    EXPECT_TRUE(holds("10.0.0.0/8", "::ffff:10.9.9.9"));
    EXPECT_TRUE(holds("192.0.2.129/25", "192.0.2.255"));
    EXPECT_FALSE(holds("192.0.2.129/25", "192.0.2.127"));
    EXPECT_TRUE(holds("0.0.0.0/0", "8.8.8.8"));
    EXPECT_FALSE(holds("0.0.0.0/0", "2001:db8::1"));
    EXPECT_FALSE(holds("::/0", "8.8.8.8"));
    EXPECT_FALSE(holds("::/64", "127.0.0.1"));
    EXPECT_TRUE(holds("::/64", "::1"));
    EXPECT_TRUE(holds("::/0", "2001:db8::1"));
    EXPECT_FALSE(IpNetwork::parse("::/0")->is_everything());
    EXPECT_TRUE(holds("2001:db8::/32", "2001:db8:1234::1"));
    EXPECT_FALSE(holds("2001:db8::/32", "2001:db9::"));
    EXPECT_TRUE(holds("192.0.2.1", "192.0.2.1"));
    EXPECT_FALSE(holds("192.0.2.1", "192.0.2.2"));
    EXPECT_TRUE(IpNetwork().is_everything());
    EXPECT_TRUE(IpNetwork().contains(IpAddress::parse("1.2.3.4").value()));
}

}  // namespace
}  // namespace base

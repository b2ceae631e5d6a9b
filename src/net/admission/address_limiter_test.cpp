#include "net/admission/address_limiter.h"

#include <gtest/gtest.h>

#include <string>

namespace net {
namespace {

AddressLimiter limiter(uint32_t connections, double rate, uint32_t burst, std::string exempt = {}) {
    AddressLimiter out;
    AddressLimiter::Options options{connections, rate, burst, {}};
    if (!exempt.empty()) options.exempt.push_back(base::IpNetwork::parse(exempt).value());
    out.set_options(options);
    return out;
}

base::IpAddress address(std::string_view ip) { return base::IpAddress::parse(ip).value_or(base::IpAddress()); }

bool open(AddressLimiter& limiter, std::string_view ip, int64_t now_ms = 0) {
    if (!limiter.admit(ip, now_ms)) return false;
    limiter.opened(address(ip));
    return true;
}

TEST(AddressLimiter, CountsWhereNothingIsLimited) {
    AddressLimiter l;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(open(l, "192.0.2.1"));
    EXPECT_EQ(l.addresses(), 1u);
    l.set_options({100, 0, 1, {}});
    EXPECT_FALSE(open(l, "192.0.2.1")) << "existing connections count for a new limit";
    for (int i = 0; i < 100; ++i) l.closed(address("192.0.2.1"), 0);
    EXPECT_EQ(l.addresses(), 0u);
}

TEST(AddressLimiter, ThoseOfTheOtherProcessCount) {
    AddressLimiter l = limiter(3, 0, 1);
    l.set_elsewhere({{address("192.0.2.1"), 2}, {address("192.0.2.2"), 3}});
    EXPECT_TRUE(open(l, "192.0.2.1"));
    EXPECT_FALSE(open(l, "192.0.2.1"));
    EXPECT_FALSE(open(l, "192.0.2.2"));
    EXPECT_TRUE(open(l, "192.0.2.3"));
    l.set_elsewhere({});
    EXPECT_TRUE(open(l, "192.0.2.1"));
    EXPECT_TRUE(open(l, "192.0.2.2"));
}

TEST(AddressLimiter, TheBusiestAddresses) {
    AddressLimiter l;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(open(l, "192.0.2.1"));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(open(l, "192.0.2.2"));
    EXPECT_TRUE(open(l, "192.0.2.3"));
    EXPECT_EQ(l.busiest(2), (AddressLimiter::Counts{{address("192.0.2.2"), 5}, {address("192.0.2.1"), 3}}));
    EXPECT_EQ(l.busiest(10).size(), 3u);
    EXPECT_TRUE(AddressLimiter().busiest(10).empty());
}

TEST(AddressLimiter, ConnectionsAtOnce) {
    AddressLimiter l = limiter(2, 0, 1);
    EXPECT_TRUE(open(l, "192.0.2.1"));
    EXPECT_TRUE(open(l, "192.0.2.1"));
    EXPECT_FALSE(open(l, "192.0.2.1"));
    EXPECT_FALSE(open(l, "::ffff:192.0.2.1"));
    EXPECT_TRUE(open(l, "192.0.2.2"));
    EXPECT_EQ(l.counters().too_many, 2u);
    l.closed(address("192.0.2.1"), 0);
    EXPECT_TRUE(open(l, "192.0.2.1"));
    for (int i = 0; i < 2; ++i) l.closed(address("192.0.2.1"), 0);
    l.closed(address("192.0.2.2"), 0);
    EXPECT_EQ(l.addresses(), 0u) << "without a rate there is no state to keep";
    l.closed(address("192.0.2.2"), 0);  // a surplus call is harmless
    EXPECT_TRUE(open(l, "192.0.2.2"));
}

TEST(AddressLimiter, OfIpv6ANetworkIsAnAddress) {
    AddressLimiter l = limiter(1, 0, 1);
    EXPECT_TRUE(open(l, "2001:db8:1:2::1"));
    EXPECT_FALSE(open(l, "2001:db8:1:2:ffff::9"));
    EXPECT_TRUE(open(l, "2001:db8:1:3::1"));
    l.closed(address("2001:db8:1:2::1"), 0);
    EXPECT_TRUE(open(l, "2001:db8:1:2:ffff::9"));
}

TEST(AddressLimiter, RateWithABurst) {
    AddressLimiter l = limiter(0, 2, 3);  // two a second, three at once
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(l.admit("192.0.2.1", 1000));
    EXPECT_FALSE(l.admit("192.0.2.1", 1000));
    EXPECT_FALSE(l.admit("192.0.2.1", 1499));
    EXPECT_TRUE(l.admit("192.0.2.1", 1500));
    EXPECT_FALSE(l.admit("192.0.2.1", 1500));
    EXPECT_TRUE(l.admit("192.0.2.2", 1500)) << "another address has a bucket of its own";
    EXPECT_TRUE(l.admit("192.0.2.1", 1'000'000));
    EXPECT_EQ(l.counters().too_fast, 3u);
    EXPECT_EQ(l.admit("192.0.2.1", 0).has_value(), true) << "a clock that goes back adds and removes no tokens";
}

TEST(AddressLimiter, OneConnectionThatIsKeptDoesNotRefillFaster) {
    AddressLimiter l = limiter(0, 1, 1);
    EXPECT_TRUE(open(l, "192.0.2.1", 0));
    EXPECT_FALSE(open(l, "192.0.2.1", 999));
    EXPECT_TRUE(open(l, "192.0.2.1", 1000));
    l.closed(address("192.0.2.1"), 1000);
    l.closed(address("192.0.2.1"), 1000);
    EXPECT_EQ(l.addresses(), 1u) << "its bucket is not full yet";
    EXPECT_FALSE(open(l, "192.0.2.1", 1001)) << "closing does not circumvent the rate";
    EXPECT_TRUE(l.admit("192.0.2.9", 5000));
    EXPECT_EQ(l.addresses(), 1u) << "the first one's bucket is full again, and its entry was removed";
}

TEST(AddressLimiter, ExemptAndUnknownOnesPass) {
    AddressLimiter l = limiter(1, 1, 1, "127.0.0.0/8");
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(open(l, "127.0.0.1"));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(open(l, ""));
    EXPECT_EQ(l.addresses(), 2u) << "they are counted, in case a limit is set later";
}

TEST(AddressLimiter, TheTableIsBounded) {
    AddressLimiter l = limiter(0, 0.001, 2);  // no bucket becomes full again in this test
    EXPECT_TRUE(open(l, "10.0.0.1", 0));
    for (uint32_t i = 0; i < AddressLimiter::kMaxIdle + 1000; ++i) {
        base::IpAddress address = base::IpAddress::parse("192.0.2.0").value();
        for (size_t byte = 0; byte < 4; ++byte) address.bytes[12 + byte] = static_cast<uint8_t>(i >> (24 - 8 * byte));
        EXPECT_TRUE(l.admit(address.text(), 1));
    }
    EXPECT_LE(l.addresses(), AddressLimiter::kMaxIdle + 2);
    EXPECT_GE(l.counters().forgotten, 998u);
    EXPECT_TRUE(l.admit("10.0.0.1", 1));
    EXPECT_FALSE(l.admit("10.0.0.1", 1)) << "an address with a connection is kept";
}

TEST(AddressLimiter, NewOptionsCountWhoIsThere) {
    AddressLimiter l = limiter(1, 0.001, 1);
    EXPECT_TRUE(open(l, "192.0.2.1"));
    EXPECT_TRUE(l.admit("192.0.2.2", 0));
    l.set_options({2, 0, 1, {}});
    EXPECT_EQ(l.addresses(), 1u) << "an address without a connection is dropped";
    EXPECT_TRUE(open(l, "192.0.2.1"));
    EXPECT_FALSE(open(l, "192.0.2.1"));
}

}  // namespace
}  // namespace net

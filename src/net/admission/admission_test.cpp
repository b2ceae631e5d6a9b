#include "net/admission/admission.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "net/admission/address_quota.h"
#include "runtime/threads/descriptors.h"

namespace net {
namespace {

base::IpAddress ip_of(std::string_view ip) { return base::IpAddress::parse(ip).value(); }

struct One final : EvictionCandidate {
    explicit One(std::vector<One*>& gone) : gone_(gone) {}
    void evict() override { gone_.push_back(this); }
    std::vector<One*>& gone_;
};

TEST(EvictionList, TheFirstMakesRoom) {
    std::vector<One*> gone;
    EvictionList list, other;
    One a(gone), b(gone), c(gone);
    EXPECT_FALSE(list.evict_one(100, 0));
    list.add(a, 100);
    list.add(b, 200);
    list.add(c, 300);
    EXPECT_FALSE(list.evict_one(1'099, 1'000)) << "the first one has been in the list for 999 ms";
    EXPECT_TRUE(list.evict_one(1'100, 1'000));
    EXPECT_EQ(gone, std::vector<One*>{&a});
    EXPECT_FALSE(a.in_list());
    list.add(b, 400);  // again: at the end
    EXPECT_TRUE(list.evict_one(1'400, 1'000));
    EXPECT_EQ(gone.back(), &c);
    other.add(b, 500);
    EXPECT_EQ(list.size(), 0u);
    EXPECT_EQ(other.size(), 1u);
    {
        One d(gone);
        other.add(d, 600);
        b.leave_list();
        b.leave_list();
        EXPECT_EQ(other.size(), 1u);
    }
    EXPECT_FALSE(other.evict_one(10'000, 0)) << "its destructor removed it";
    EXPECT_EQ(list.ended_total(), 2u);
}

TEST(Admission, DescriptorsHaveAReserve) {
    runtime::set_descriptor_budget({100, 110});
    std::vector<One*> gone;
    One idle(gone);
    Admission admission;
    admission.set_options({1000, {}});
    admission.saw_descriptor(99);
    EXPECT_TRUE(admission.admit("192.0.2.1"));
    admission.saw_descriptor(100);
    const auto refused = admission.admit("192.0.2.1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kLimit);
    EXPECT_NE(refused.error().text().find("open files"), std::string::npos) << refused.error().text();
    EXPECT_EQ(admission.refused_for_descriptors(), 1u);
    EXPECT_TRUE(admission.is_full());
    EXPECT_TRUE(admission.expect("192.0.2.1")) << "what has no descriptor of its own";
    EXPECT_TRUE(admission.admit_expected("192.0.2.1"));
    EXPECT_TRUE(admission.admit_without_descriptor("192.0.2.1"));
    // One that only waits makes room.
    admission.idle().add(idle, base::monotonic_ms() - Admission::kEvictableMs);
    EXPECT_TRUE(admission.admit("192.0.2.1"));
    EXPECT_EQ(gone.size(), 1u);
    admission.saw_descriptor(40);
    EXPECT_FALSE(admission.is_full());
    runtime::set_descriptor_budget({});
}

TEST(Admission, CountsConnectionsOfAllKinds) {
    Admission admission;
    admission.set_options({3, {}});
    EXPECT_TRUE(admission.admit("192.0.2.1"));
    admission.opened(ip_of("192.0.2.1"));
    Admission::Ticket ticket(admission, ip_of("192.0.2.2"));
    Admission::Ticket other = std::move(ticket);
    EXPECT_FALSE(ticket);
    {
        const Admission::Ticket third(admission, ip_of("192.0.2.2"));
        EXPECT_EQ(admission.connections(), 3u);
        auto refused = admission.admit("192.0.2.3");
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code(), base::Code::kLimit);
        EXPECT_EQ(refused.error().text(), "3 connections, the limit of max_connections");
        EXPECT_FALSE(admission.expect("192.0.2.3"));
    }
    EXPECT_TRUE(admission.admit("192.0.2.3"));
    EXPECT_EQ(admission.refused_total(), 2u);
    other.release();
    other.release();
    admission.closed(ip_of("192.0.2.1"));
    EXPECT_EQ(admission.connections(), 0u);
}

TEST(Admission, AReloadCountsWhoIsThere) {
    Admission admission;
    std::vector<Admission::Ticket> tickets;
    for (int i = 0; i < 3; ++i) tickets.emplace_back(admission, ip_of("192.0.2.1"));
    EXPECT_TRUE(admission.admit("192.0.2.1"));
    admission.set_options({0, {3, 0, 1, {}}});
    auto refused = admission.admit("192.0.2.1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kRefused);
    EXPECT_TRUE(admission.admit("192.0.2.2"));
    tickets.pop_back();
    EXPECT_TRUE(admission.admit("192.0.2.1"));
}

TEST(Admission, WhoIsExpectedPaysOnce) {
    Admission admission;
    admission.set_options({0, {0, 0.001, 1, {}}});
    EXPECT_TRUE(admission.expect("192.0.2.1"));
    EXPECT_TRUE(admission.admit_expected("192.0.2.1"));
    EXPECT_FALSE(admission.expect("192.0.2.1")) << "its rate is exhausted";
    EXPECT_FALSE(admission.admit("192.0.2.1"));
    EXPECT_TRUE(admission.admit_expected("192.0.2.1"));
}

TEST(Admission, SpareConnectionsMakeRoom) {
    Admission admission;
    admission.set_options({2, {2, 0, 1, {}}});
    const Admission::Ticket busy(admission, ip_of("192.0.2.1"));
    struct Idle final : EvictionCandidate {
        Idle(Admission& admission, std::string_view ip) : ticket(admission, ip_of(ip)) {}
        void evict() override { ticket.release(); }
        Admission::Ticket ticket;
    } idle(admission, "192.0.2.1");
    const int64_t now_ms = base::monotonic_ms();
    admission.idle().add(idle, now_ms);
    EXPECT_FALSE(admission.admit("192.0.2.2")) << "it has not been idle for long";
    admission.idle().add(idle, now_ms - Admission::kEvictableMs);
    EXPECT_FALSE(admission.admit("192.0.2.1")) << "a client with too many connections displaces no other";
    EXPECT_TRUE(admission.expect("192.0.2.2"));
    EXPECT_TRUE(idle.ticket);
    EXPECT_TRUE(admission.admit("192.0.2.2"));
    EXPECT_FALSE(idle.ticket);
    EXPECT_EQ(admission.connections(), 1u);
}

TEST(AddressQuota, OfAnAddressAndInAll) {
    AddressQuota quota("things", "of_address", "in_all");
    quota.set_limits({2, 4, 1'000, 1'500, {base::IpNetwork::parse("10.0.0.0/8").value()}});
    std::vector<AddressQuota::Share> shares;
    const auto take = [&](std::string_view ip, size_t bytes) -> std::string {
        auto share = quota.take(ip, bytes);
        if (!share) return share.error().text();
        shares.push_back(*std::move(share));
        return "";
    };
    EXPECT_EQ(take("192.0.2.1", 2'000), "0 things with 0 kB of memory are here, the limit (in_all)");
    EXPECT_EQ(take("192.0.2.1", 1'001), "0 things with 0 kB of memory are from this address, the limit (of_address)");
    EXPECT_EQ(take("192.0.2.1", 10), "");
    EXPECT_EQ(take("::ffff:192.0.2.1", 10), "");
    EXPECT_EQ(take("192.0.2.1", 10), "2 things with 0 kB of memory are from this address, the limit (of_address)");
    EXPECT_EQ(take("10.1.2.3", 1'100), "") << "exempt";
    EXPECT_EQ(take("10.1.2.3", 100), "");
    EXPECT_EQ(take("10.1.2.3", 1), "4 things with 1 kB of memory are here, the limit (in_all)");
    EXPECT_EQ(quota.counters().refused_address, 2u);
    EXPECT_EQ(quota.counters().refused_all, 2u);
    EXPECT_EQ(quota.count(), 4u);
    EXPECT_EQ(quota.bytes(), 1'220u);
    EXPECT_EQ(quota.addresses(), 2u);
    shares.erase(shares.begin());
    EXPECT_EQ(take("192.0.2.1", 10), "");
    AddressQuota::Share moved = std::move(shares.back());
    shares.clear();
    EXPECT_EQ(quota.count(), 1u);
    moved = {};
    EXPECT_EQ(quota.count() + quota.bytes() + quota.addresses(), 0u);
}

TEST(AddressQuota, OfIpv6ANetworkIsAnAddress) {
    AddressQuota quota("things", "of_address", "in_all");
    quota.set_limits({1, 0, 0, 0, {}});
    const auto share = quota.take("2001:db8:1:2::1", 0);
    EXPECT_TRUE(share);
    EXPECT_FALSE(quota.take("2001:db8:1:2:ffff::9", 0));
    EXPECT_TRUE(quota.take("2001:db8:1:3::1", 0));
    const auto unknown = quota.take("no address", 0), another = quota.take("none either", 0);
    EXPECT_TRUE(unknown && another) << "text that is not an address is subject only to the limits for all";
}

}  // namespace
}  // namespace net

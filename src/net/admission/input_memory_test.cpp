#include "net/admission/input_memory.h"

#include <gtest/gtest.h>

namespace net {
namespace {

constexpr size_t kMb = 1 << 20;

struct Holder final : InputHolder {
    Holder(InputMemory& in, std::string_view text) : memory(in), ip(*base::IpAddress::parse(text)) {}
    ~Holder() { memory.forget(*this); }
    bool holds(size_t size) {
        bytes = size;
        return memory.update(*this, ip, size).has_value();
    }
    size_t unfinished_input() const override { return bytes; }
    void list_unfinished_input(std::vector<uint64_t>& to) const override {
        to.insert(to.end(), parts.begin(), parts.end());
    }
    void drop_unfinished_input(std::string_view why) override {
        dropped = why;
        bytes = 0;
    }
    InputMemory& memory;
    base::IpAddress ip;
    size_t bytes = 0;
    std::vector<uint64_t> parts{};
    std::string dropped{};
};

TEST(InputMemory, CountsWhatIsAboveTheFreeAmount) {
    InputMemory memory;
    {
        Holder one(memory, "192.0.2.1"), two(memory, "192.0.2.1");
        EXPECT_TRUE(one.holds(InputMemory::kFree));
        EXPECT_EQ(memory.holders(), 0u);
        EXPECT_TRUE(one.holds(kMb) && two.holds(2 * kMb));
        EXPECT_EQ(memory.bytes(), 3 * kMb);
        EXPECT_TRUE(two.holds(kMb));
        EXPECT_EQ(memory.bytes(), 2 * kMb);
        EXPECT_TRUE(two.holds(0));
        EXPECT_EQ(memory.bytes(), kMb);
    }
    EXPECT_EQ(memory.bytes(), 0u);
    EXPECT_EQ(memory.holders(), 0u);
}

TEST(InputMemory, AnAddressHasALimit) {
    InputMemory memory;
    memory.set_limits({.of_address = 4 * kMb, .exempt = {*base::IpNetwork::parse("127.0.0.0/8")}});
    Holder a(memory, "2001:db8::1"), same(memory, "2001:db8::2"), other(memory, "2001:db8:1::1");
    EXPECT_TRUE(a.holds(2 * kMb) && same.holds(2 * kMb) && other.holds(4 * kMb));
    EXPECT_FALSE(same.holds(2 * kMb + 1));
    EXPECT_EQ(memory.counters().refused, 1u);
    // It ends, so its bytes do not count any longer.
    EXPECT_EQ(memory.bytes(), 6 * kMb);
    EXPECT_TRUE(a.holds(4 * kMb));
    Holder local(memory, "127.0.0.1");
    EXPECT_TRUE(local.holds(5 * kMb));
}

TEST(InputMemory, TheAddressWithMostGivesWay) {
    InputMemory memory;
    memory.set_limits({.in_all = 10 * kMb});
    Holder small(memory, "192.0.2.1"), large(memory, "192.0.2.2"), larger(memory, "192.0.2.2");
    EXPECT_TRUE(small.holds(2 * kMb) && large.holds(3 * kMb) && larger.holds(4 * kMb));
    EXPECT_FALSE(large.holds(5 * kMb));  // its own address holds most
    EXPECT_TRUE(larger.dropped.empty() && small.dropped.empty());
    EXPECT_TRUE(large.holds(3 * kMb));
    EXPECT_TRUE(small.holds(4 * kMb));
    EXPECT_NE(larger.dropped.find("others need the memory"), std::string::npos);
    EXPECT_TRUE(large.dropped.empty());
    EXPECT_EQ(memory.bytes(), 7 * kMb);
    EXPECT_EQ(memory.counters().displaced, 1u);
}

TEST(InputMemory, WhatStaysUnfinishedIsDropped) {
    InputMemory memory;
    Holder busy(memory, "192.0.2.1"), stuck(memory, "192.0.2.1");
    EXPECT_TRUE(busy.holds(kMb) && stuck.holds(kMb));
    stuck.parts = {1, 2};
    for (int64_t ms = 0; ms < InputMemory::kMaxUnfinishedMs; ms += 1'000) {
        busy.parts = {static_cast<uint64_t>(ms)};
        stuck.parts.back() = static_cast<uint64_t>(ms);  // one part is finished again and again, the other is not
        memory.check(ms);
        EXPECT_TRUE(stuck.dropped.empty()) << ms;
    }
    memory.check(InputMemory::kMaxUnfinishedMs);
    EXPECT_EQ(stuck.dropped, "input has stayed unfinished for 30 s");
    EXPECT_TRUE(busy.dropped.empty());
    EXPECT_EQ(memory.counters().stale, 1u);
    EXPECT_EQ(memory.holders(), 1u);
}

TEST(InputMemory, ACheckAsksAgain) {
    InputMemory memory;
    Holder holder(memory, "192.0.2.1");
    EXPECT_TRUE(holder.holds(2 * kMb));
    holder.bytes = kMb;
    memory.check(0);
    EXPECT_EQ(memory.bytes(), kMb);
    holder.bytes = 0;
    memory.check(1'000);
    EXPECT_EQ(memory.holders(), 0u);
}

}  // namespace
}  // namespace net

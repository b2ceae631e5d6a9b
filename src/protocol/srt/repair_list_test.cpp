#include "protocol/srt/repair_list.h"

#include <gtest/gtest.h>

#include <set>

#include "protocol/srt/network_testing.h"

namespace srt {
namespace {

TEST(SrtRepairList, TouchingRangesBecomeOne) {
    RepairList list;
    EXPECT_TRUE(list.add({1, 2}));
    EXPECT_TRUE(list.add({6, 7}));
    EXPECT_TRUE(list.add({3, 3}));
    EXPECT_EQ(list.ranges(), 2u);
    EXPECT_TRUE(list.add({4, 5}));
    EXPECT_EQ(list.ranges(), 1u);
    EXPECT_EQ(list.packets(), 7);
    list.remove({3, 4});
    EXPECT_EQ(list.ranges(), 2u);
    list.remove_below(2);
    EXPECT_EQ(list.front(), 2);
    list.remove({0, 100});
    EXPECT_TRUE(list.empty());
}

TEST(SrtRepairList, IsASetOfNumbers) {
    testing::Random random(7);
    RepairList list;
    std::set<int64_t> expected;
    for (int i = 0; i < 20'000; ++i) {
        const int64_t first = random.below(300), last = first + random.below(10);
        const int64_t what = random.below(5);
        if (what == 4) {
            const int64_t below = random.below(100);
            list.remove_below(below);
            expected.erase(expected.begin(), expected.lower_bound(below));
        }
        for (int64_t n = first; n <= last && what < 4; ++n)
            what < 2 ? void(expected.insert(n)) : void(expected.erase(n));
        if (what < 2) list.add({first, last});
        if (what == 2 || what == 3) list.remove({first, last});
        ASSERT_EQ(list.packets(), static_cast<int64_t>(expected.size()));
        for (int64_t n = first - 1; n <= last + 1; ++n) ASSERT_EQ(list.contains(n), expected.contains(n)) << n;
        ASSERT_EQ(list.empty(), expected.empty());
        ASSERT_EQ(list.empty() ? -1 : list.front(), expected.empty() ? -1 : *expected.begin());
    }
}

TEST(SrtRepairList, IsBounded) {
    RepairList list;
    for (int64_t i = 0; i < 10'000; ++i) list.add({i * 2, i * 2});
    EXPECT_EQ(list.ranges(), RepairList::kMaxRanges);
    EXPECT_TRUE(list.add({0, 100'000})) << "everything is one range";
    EXPECT_EQ(list.ranges(), 1u);
}

}  // namespace
}  // namespace srt

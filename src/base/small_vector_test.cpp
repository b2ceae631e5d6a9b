#include "base/small_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/vector_testing.h"

namespace base {
namespace {

using SmallPointers = SmallVector<std::unique_ptr<int>>;

TEST(SmallVector, OneElementTakesNoMemoryOfItsOwn) {
    SmallPointers list;
    EXPECT_EQ(sizeof(list), 16u);
    EXPECT_TRUE(list.empty());
    list.push_back(std::make_unique<int>(1));
    auto* inside = reinterpret_cast<const std::byte*>(&list.front());
    EXPECT_TRUE(inside >= reinterpret_cast<const std::byte*>(&list) &&
                inside < reinterpret_cast<const std::byte*>(&list + 1));
}

TEST(SmallVector, GrowsAndKeepsTheOrder) {
    SmallPointers list;
    for (int i = 0; i < 100; ++i) list.push_back(std::make_unique<int>(i));
    ASSERT_EQ(list.size(), 100u);
    EXPECT_EQ(*list.front(), 0);
    EXPECT_EQ(*list.back(), 99);
    EXPECT_EQ(list.erase_if([](const auto& p) { return *p % 10 != 0; }), 90u);
    EXPECT_EQ(pointed_values(list), (std::vector<int>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
}

TEST(SmallVector, DestroysWhatItDrops) {
    auto shared = std::make_shared<int>(0);
    {
        SmallVector<std::shared_ptr<int>> list;
        for (int i = 0; i < 5; ++i) list.push_back(shared);
        EXPECT_EQ(shared.use_count(), 6);
        size_t nth = 0;
        EXPECT_EQ(list.erase_if([&](const auto&) { return nth++ < 2; }), 2u);
        EXPECT_EQ(shared.use_count(), 4);
        list.clear();
        EXPECT_EQ(shared.use_count(), 1);
        list.push_back(shared);
    }
    EXPECT_EQ(shared.use_count(), 1);
}

TEST(SmallVector, HoldsStringsAcrossGrowth) {
    SmallVector<std::string> list;
    list.push_back("a");
    list.push_back("b");
    EXPECT_EQ(list.front(), "a");
    EXPECT_EQ(list.back(), "b");
}

}  // namespace
}  // namespace base

#include "base/slim_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/vector_testing.h"

namespace base {
namespace {

using SlimPointers = SlimVector<std::unique_ptr<int>>;

SlimPointers& fill(SlimPointers& list, int count) {
    for (int i = 0; i < count; ++i) list.push_back(std::make_unique<int>(i));
    return list;
}

TEST(SlimVector, EmptyItIsAPointerWithoutMemory) {
    SlimPointers list;
    EXPECT_EQ(sizeof(list), sizeof(void*));
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.size(), 0u);
    EXPECT_EQ(list.capacity(), 0u);
    EXPECT_EQ(list.begin(), list.end());
    EXPECT_EQ(list.erase_if([](const auto&) { return true; }), 0u);
    list.clear();
    list.shrink();
    EXPECT_TRUE(list.empty());
}

TEST(SlimVector, GrowsAndKeepsTheOrder) {
    SlimPointers list;
    fill(list, 100);
    ASSERT_EQ(list.size(), 100u);
    EXPECT_EQ(*list.front(), 0);
    EXPECT_EQ(*list.back(), 99);
    EXPECT_EQ(*list[42], 42);
    EXPECT_EQ(list.erase_if([](const auto& p) { return *p % 10 != 0; }), 90u);
    EXPECT_EQ(pointed_values(list), (std::vector<int>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
}

TEST(SlimVector, TakesAndGivesAtTheFront) {
    SlimPointers list;
    list.push_front(std::make_unique<int>(7));
    EXPECT_EQ(pointed_values(list), (std::vector<int>{7}));
    fill(list, 3).push_front(std::make_unique<int>(8));
    EXPECT_EQ(pointed_values(list), (std::vector<int>{8, 7, 0, 1, 2}));
    list.erase_front(0);
    list.erase_front(2);
    EXPECT_EQ(pointed_values(list), (std::vector<int>{0, 1, 2}));
    list.erase_front(3);
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.capacity(), 0u);
}

TEST(SlimVector, GivesMemoryBack) {
    SlimPointers list;
    fill(list, 5);
    EXPECT_EQ(list.capacity(), 8u);
    list.shrink();
    EXPECT_EQ(list.capacity(), 5u);
    EXPECT_EQ(pointed_values(list), (std::vector<int>{0, 1, 2, 3, 4}));
    list.erase_if([](const auto&) { return true; });
    EXPECT_EQ(list.capacity(), 0u);
    EXPECT_EQ(pointed_values(fill(list, 2)), (std::vector<int>{0, 1}));
}

TEST(SlimVector, DestroysWhatItDrops) {
    auto shared = std::make_shared<int>(0);
    {
        SlimVector<std::shared_ptr<int>> list;
        for (int i = 0; i < 5; ++i) list.push_back(shared);
        EXPECT_EQ(shared.use_count(), 6);
        size_t nth = 0;
        EXPECT_EQ(list.erase_if([&](const auto&) { return nth++ < 2; }), 2u);
        EXPECT_EQ(shared.use_count(), 4);
        list.erase_front(1);
        EXPECT_EQ(shared.use_count(), 3);
        list.clear();
        EXPECT_EQ(shared.use_count(), 1);
        list.push_back(shared);
    }
    EXPECT_EQ(shared.use_count(), 1);
}

TEST(SlimVector, KeepsWiderAlignment) {
    struct alignas(16) Wide {
        std::string text;
    };
    SlimVector<Wide> list;
    for (int i = 0; i < 3; ++i) {
        list.push_back({std::string(40, static_cast<char>('a' + i))});
        EXPECT_EQ(reinterpret_cast<uintptr_t>(&list.back()) % 16, 0u);
    }
    EXPECT_EQ(list[1].text, std::string(40, 'b'));
}

}  // namespace
}  // namespace base

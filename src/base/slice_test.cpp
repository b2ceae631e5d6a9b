#include "base/slice.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace base {
namespace {

std::span<const uint8_t> span_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Slice, EmptyHasNothing) {
    Slice slice;
    EXPECT_TRUE(slice.empty());
    EXPECT_EQ(slice.sub(3, 5).size(), 0u);
    EXPECT_EQ(slice, Slice::copy(std::string_view("")));
}

TEST(Slice, SubIsClamped) {
    Slice slice = Slice::copy(std::string_view("0123456789"));
    struct {
        size_t offset, count;
        const char* expected;
    } rows[] = {{0, SIZE_MAX, "0123456789"},
                {3, 4, "3456"},
                {9, 1, "9"},
                {10, 1, ""},
                {11, 1, ""},
                {8, 100, "89"},
                {SIZE_MAX, SIZE_MAX, ""},
                {2, SIZE_MAX, "23456789"},
                {4, 0, ""}};
    for (const auto& row : rows) EXPECT_EQ(slice.sub(row.offset, row.count).text(), row.expected) << row.offset;
    EXPECT_EQ(slice.sub(2, 6).sub(1, 2).text(), "34");
}

TEST(Slice, CopiesShareTheBytes) {
    Slice sub;
    const uint8_t* address;
    {
        Slice slice = Slice::copy(std::string_view("shared"));
        address = slice.data();
        Slice copy = slice;
        EXPECT_EQ(copy.data(), address);
        sub = copy.sub(2, 2);
    }
    EXPECT_EQ(sub.data(), address + 2);
    EXPECT_EQ(sub.text(), "ar");
    const Slice& self = sub;
    sub = self;
    EXPECT_EQ(sub.text(), "ar");
    Slice moved = std::move(sub);
    EXPECT_EQ(moved.text(), "ar");
}

TEST(SliceBlock, PartsKeepTheirBytesWhateverGoes) {
    std::vector<std::pair<Slice, std::string>> kept;
    {
        SliceBlock block;
        for (size_t i = 0; i < 300; ++i) {
            const std::string text(i * 7 % 2200, static_cast<char>('a' + i % 26));  // some are too large for a block
            SliceBuilder builder(block, text.size());
            EXPECT_EQ(builder.capacity(), text.size());
            if (i % 5 == 1) continue;  // discarded unused
            builder.append(span_of(text));
            Slice slice = builder.freeze();
            if (i % 3 != 0) kept.emplace_back(std::move(slice), text);
            if (i == 150) block.reset();
        }
    }
    for (const auto& [slice, text] : kept) EXPECT_EQ(slice.text(), text);
}

TEST(SliceBlock, CopiesShareABlock) {
    SliceBlock block;
    const std::string small = "small", large(3 * 1024, 'l');
    const Slice one = block.copy(span_of(small)), two = block.copy(span_of(small));
    const Slice alone = block.copy(span_of(large)), none = block.copy({});
    block.reset();
    EXPECT_EQ(one.text(), small);
    EXPECT_EQ(two.text(), small);
    EXPECT_EQ(alone.text(), large);
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(one.shares_memory(two), SliceBlock::kLargest > 0);
    EXPECT_FALSE(one.shares_memory(alone));
    EXPECT_TRUE(alone.is_only_reference());
}

TEST(SliceBlock, APartThatGrowsMovesOut) {
    SliceBlock block;
    SliceBuilder first(block, 3);
    SliceBuilder second(block, 3);
    first.append(span_of("abc"));
    second.append(span_of("xyz"));
    first.append(span_of("defghijk"));
    second.reserve(100);
    second.append('!');
    EXPECT_EQ(first.freeze().text(), "abcdefghijk");
    EXPECT_EQ(second.freeze().text(), "xyz!");
}

TEST(SliceBuilder, GrowsAndFreezes) {
    SliceBuilder builder;
    std::string expected;
    for (int i = 0; i < 1000; ++i) {
        builder.append(static_cast<uint8_t>(i));
        expected.push_back(static_cast<char>(i));
    }
    builder.extend(2)[1] = 'y';
    builder.data()[1000] = 'x';
    EXPECT_EQ(builder.size(), 1002u);
    EXPECT_GE(builder.capacity(), 1002u);
    Slice slice = builder.freeze();
    EXPECT_EQ(slice.text(), expected + "xy");
    EXPECT_EQ(builder.size(), 0u);
    EXPECT_EQ(builder.capacity(), 0u);
    builder.append(1);
    EXPECT_EQ(builder.freeze().size(), 1u);
    EXPECT_EQ(slice.text(), expected + "xy");
}

TEST(SliceBuilder, ClearKeepsTheRoom) {
    SliceBuilder builder(100);
    builder.append(std::vector<uint8_t>(80));
    builder.clear();
    EXPECT_EQ(builder.size(), 0u);
    EXPECT_EQ(builder.capacity(), 100u);
}

TEST(SliceBuilder, FreezeOfNothing) {
    SliceBuilder never, reserved(10);
    EXPECT_TRUE(never.freeze().empty());
    EXPECT_TRUE(reserved.freeze().empty());
}

TEST(SliceBuilder, MovesItsBytes) {
    SliceBuilder a;
    a.append(std::vector<uint8_t>{1, 2});
    SliceBuilder b = std::move(a);
    EXPECT_EQ(b.size(), 2u);
    SliceBuilder c(5);
    c = std::move(b);
    EXPECT_EQ(c.freeze().size(), 2u);
}

}  // namespace
}  // namespace base

#include "service/api/lists/search.h"

#include <gtest/gtest.h>

#include <vector>

namespace service::api {
namespace {

const std::vector<std::string_view> kColumns{"name", "clients"};

TEST(Search, IsPartOfATextInAnyCase) {
    EXPECT_TRUE(Search("CAM").matches("live/camera"));
    EXPECT_TRUE(Search("").matches(""));
    EXPECT_TRUE(Search("").matches("live/camera"));
    EXPECT_FALSE(Search("a").matches(""));
    EXPECT_FALSE(Search("cams").matches("live/camera"));
    EXPECT_TRUE(Search("CAM").matches({"192.0.2.1", "live/camera"}));
    EXPECT_FALSE(Search("1live").matches({"192.0.2.1", "live/camera"})) << "texts are not joined";
    EXPECT_TRUE(Search("\xe6\x91\x84").matches("live/\xe6\x91\x84\xe5\x83\x8f"));
}

TEST(Sort, HasColumnsInBothDirections) {
    EXPECT_FALSE(parse_sort({}, kColumns).order);
    EXPECT_TRUE(parse_sort({}, kColumns).valid);
    const SortParameter up = parse_sort("clients", kColumns), down = parse_sort("-name", kColumns);
    ASSERT_TRUE(up.order && down.order);
    EXPECT_EQ(up.order->column, 1u);
    EXPECT_FALSE(up.order->descending);
    EXPECT_EQ(down.order->column, 0u);
    EXPECT_TRUE(down.order->descending);
    for (const char* bad : {"", "-", "--name", "names", "name ", "+name", "Name", "name,clients"})
        EXPECT_FALSE(parse_sort(bad, kColumns).valid) << bad;
}

TEST(Sort, IsInTheTableOfEndpoints) {
    EXPECT_EQ(sort_parameter(kColumns).choices, (std::vector<std::string>{"name", "-name", "clients", "-clients"}));
}

// Compared with a whole sort, for every page of lists with equal values.
TEST(Sort, CutsThePageOfTheWholeOrder) {
    for (const uint32_t size : {0u, 1u, 7u, 100u}) {
        for (const bool descending : {false, true}) {
            struct Row {
                uint32_t index, value;
                bool operator==(const Row&) const = default;
            };
            std::vector<Row> all(size);
            for (uint32_t i = 0; i < size; ++i) all[i] = {i, i * 7919 % 13};
            const auto less = [](const Row& a, const Row& b) { return a.value < b.value; };
            std::vector<Row> whole = all;
            std::ranges::stable_sort(whole,
                                     [&](const Row& a, const Row& b) { return descending ? less(b, a) : less(a, b); });
            for (const Page page :
                 {Page{0, 10}, Page{3, 3}, Page{95, 10}, Page{100, 1}, Page{Page::kMaxStart, 10'000}}) {
                std::vector<Row> cut = all;
                cut_page(cut, page, less, descending);
                std::vector<Row> wanted;
                for (size_t i = page.start; i < whole.size() && page.has(i); ++i) wanted.push_back(whole[i]);
                EXPECT_TRUE(cut == wanted) << size << " entries from " << page.start << ", " << page.count;
            }
        }
    }
}

}  // namespace
}  // namespace service::api

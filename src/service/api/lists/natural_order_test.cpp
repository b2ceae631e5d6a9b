#include "service/api/lists/natural_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace service::api {
namespace {

TEST(NaturalOrder, NumbersByTheirValue) {
    const std::vector<std::string> wanted = {"",
                                             "/live/cam",
                                             "/live/cam01",  // as cam1, and then by its bytes
                                             "/live/cam1",
                                             "/live/CAM2",
                                             "/live/cam2",
                                             "/live/cam2/a",
                                             "/live/cam9b",
                                             "/live/cam10",
                                             "/live/cam10a2",
                                             "/live/cam10a10",
                                             "/live/cam99999999999999999999999",
                                             "/live/cam100000000000000000000000",
                                             "/live/camera",
                                             "/live/\xc3\xa9",
                                             "0",
                                             "00",
                                             "1"};
    std::vector<std::string> sorted = wanted;
    std::ranges::reverse(sorted);
    std::ranges::sort(sorted, natural_less);
    EXPECT_EQ(sorted, wanted);
}

// std::sort demands it.
TEST(NaturalOrder, IsAStrictWeakOrdering) {
    const std::vector<std::string> names = {"",     "0",  "00",  "a",   "A", "a0", "a00", "A0b",
                                            "a00b", "a1", "a01", "a1b", "/", "10", "9"};
    for (const auto& a : names) {
        EXPECT_FALSE(natural_less(a, a)) << a;
        for (const auto& b : names) {
            EXPECT_EQ(natural_less(a, b), a != b && !natural_less(b, a)) << a << " " << b;
            for (const auto& c : names) {
                if (!natural_less(a, b) || !natural_less(b, c)) continue;
                EXPECT_TRUE(natural_less(a, c)) << a << " " << b << " " << c;
            }
        }
    }
}

}  // namespace
}  // namespace service::api

#include "load/pacing.h"

#include <gtest/gtest.h>

#include <vector>

namespace load {
namespace {

TEST(Ramp, IsEven) {
    Ramp ramp(5'000'000, 500);
    EXPECT_EQ(ramp.due_us(0), 5'000'000);
    EXPECT_EQ(ramp.due_us(1), 5'002'000);
    EXPECT_EQ(ramp.due_us(500), 6'000'000);
    EXPECT_EQ(ramp.due_us(10'000), 25'000'000);
}

TEST(Ramp, ZeroIsAllAtOnce) { EXPECT_EQ(Ramp(7, 0).due_us(9999), 7); }

TEST(LoopPosition, RepeatsWithoutTheHeaders) {
    LoopPosition p(4, 2, 1000);
    std::vector<uint32_t> order, shifts;
    for (int i = 0; i < 8; ++i) {
        order.push_back(p.index());
        shifts.push_back(p.shift_ms());
        p.advance(true);
    }
    EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 3, 2, 3, 2, 3}));
    EXPECT_EQ(shifts, (std::vector<uint32_t>{0, 0, 0, 0, 1000, 1000, 2000, 2000}));
}

TEST(LoopPosition, EndsWithoutLoop) {
    LoopPosition p(2, 1, 1000);
    p.advance(false);
    EXPECT_FALSE(p.at_end());
    p.advance(false);
    EXPECT_TRUE(p.at_end());
}

}  // namespace
}  // namespace load

#include "protocol/rtp/jitter_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace rtp {
namespace {

struct Buffer {
    JitterBuffer buffer{JitterLimits{.packets = 8, .wait_us = 1000}};
    int64_t now_us = 0;
    // Pushes, and returns the output: "3 4 !7" where packets before 7 were lost.
    std::string push(uint64_t sequence) {
        buffer.push({.sequence = sequence, .arrival_us = now_us});
        return pop();
    }
    std::string pop() {
        std::string out;
        while (auto next = buffer.pop(now_us))
            out += (out.empty() ? "" : " ") + std::string(next->after_hole ? "!" : "") +
                   std::to_string(next->packet.sequence);
        return out;
    }
};

TEST(JitterBuffer, PassesOnWhatIsInOrder) {
    Buffer b;
    EXPECT_EQ(b.push(5), "5");
    EXPECT_EQ(b.push(6), "6");
    EXPECT_EQ(b.buffer.waiting(), 0u);
}

TEST(JitterBuffer, OrdersAndDropsWhatComesTwice) {
    Buffer b;
    EXPECT_EQ(b.push(5), "5");
    EXPECT_EQ(b.push(8), "");
    EXPECT_EQ(b.push(7), "");
    EXPECT_EQ(b.push(7), "");
    EXPECT_EQ(b.push(6), "6 7 8");
    EXPECT_EQ(b.push(6), "");
    EXPECT_EQ(b.buffer.counters().late, 2u);
    EXPECT_EQ(b.buffer.counters().given_up, 0u);
}

TEST(JitterBuffer, AHoleWaitsWhileItIsRequested) {
    Buffer b;
    b.push(1);
    b.now_us = 100;
    b.buffer.push({.sequence = 3, .arrival_us = 100});
    b.now_us = 1'500;
    b.buffer.push({.sequence = 5, .arrival_us = 1'500});
    EXPECT_FALSE(b.buffer.pop(1'500, 100)) << "2 is requested";
    auto next = b.buffer.pop(1'500, 1'500);
    ASSERT_TRUE(next) << "2 is given up, 4 is requested";
    EXPECT_TRUE(next->after_hole);
    EXPECT_FALSE(b.buffer.pop(3'000, 1'500));
    EXPECT_TRUE(b.buffer.pop(3'000));
}

TEST(JitterBuffer, GivesAHoleUpAfterATime) {
    Buffer b;
    b.push(1);
    EXPECT_EQ(b.push(3), "");
    b.now_us = 999;
    EXPECT_EQ(b.push(6), "");
    b.now_us = 1000;
    EXPECT_EQ(b.pop(), "!3");
    b.now_us = 1999;
    EXPECT_EQ(b.pop(), "!6");
    EXPECT_EQ(b.buffer.counters().given_up, 3u);
    EXPECT_EQ(b.push(4), "");  // too late
}

TEST(JitterBuffer, GivesAHoleUpWhenTooManyWait) {
    Buffer b;
    b.push(0);
    for (uint64_t s = 2; s < 10; ++s) EXPECT_EQ(b.push(s), "") << s;
    EXPECT_EQ(b.push(10), "!2 3 4 5 6 7 8 9 10");
}

TEST(JitterBuffer, BeginsAnew) {
    Buffer b;
    b.push(100);
    b.push(102);
    b.buffer.reset();
    EXPECT_EQ(b.push(7), "7");
}

TEST(JitterBuffer, ManyHolesStayBounded) {
    Buffer b;
    size_t most = 0;
    for (uint64_t s = 0; s < 100'000; s += 2) {
        b.push(s);
        most = std::max(most, b.buffer.waiting());
    }
    EXPECT_LE(most, 8u);
}

}  // namespace
}  // namespace rtp

#include "runtime/loop/log_limit.h"

#include <gtest/gtest.h>

namespace runtime {
namespace {

TEST(LogLimit, AFewAtOnceThenOneASecond) {
    LogLimit limit(3, 1'000);
    int64_t now = 5'000'000;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.admits(now));
    EXPECT_EQ(limit.take_left_out(), "");
    for (int i = 0; i < 1'000; ++i) EXPECT_FALSE(limit.admits(now + i % 999));
    EXPECT_EQ(limit.left_out(), 1'000u);
    EXPECT_TRUE(limit.admits(now + 1'000));
    EXPECT_EQ(limit.take_left_out(), " (1000 more like it were left out before)");
    EXPECT_EQ(limit.take_left_out(), "");
    EXPECT_FALSE(limit.admits(now + 1'001));
    // A million a second for a minute: one line a second.
    int lines = 0;
    for (int64_t at = now + 2'000; at < now + 62'000; ++at) lines += limit.admits(at);
    EXPECT_EQ(lines, 60);
    // After a quiet period: the full burst again.
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.admits(now + 100'000));
    EXPECT_FALSE(limit.admits(now + 100'000));
}

TEST(LogCondition, BeginsAndEnds) {
    LogCondition condition;
    EXPECT_FALSE(condition.ended(1).has_value());
    EXPECT_TRUE(condition.found(100));
    for (int64_t at = 200; at <= 1'000; at += 100) EXPECT_FALSE(condition.found(at));
    EXPECT_TRUE(condition.active());
    EXPECT_FALSE(condition.ended(1'100).has_value()) << "a short interruption does not end it";
    EXPECT_FALSE(condition.found(1'900));
    auto past = condition.ended(2'900);
    ASSERT_TRUE(past.has_value());
    EXPECT_EQ(past->times, 11u);
    EXPECT_EQ(past->ms, 1'800);
    EXPECT_FALSE(condition.ended(4'000).has_value());
    EXPECT_TRUE(condition.found(5'000));
}

}  // namespace
}  // namespace runtime

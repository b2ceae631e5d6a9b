#include "runtime/loop/backoff.h"

#include <gtest/gtest.h>

namespace runtime {
namespace {

TEST(Backoff, DoublesUpToItsLimit) {
    Backoff backoff(3'000, 30'000);
    for (const int64_t expected : {3'000, 6'000, 12'000, 24'000, 30'000, 30'000})
        EXPECT_EQ(backoff.next_ms(), expected);
    for (int i = 0; i < 100'000; ++i) ASSERT_EQ(backoff.next_ms(), 30'000) << "whatever the number of failures";
    backoff.reset();
    EXPECT_EQ(backoff.next_ms(), 3'000);
}

TEST(Backoff, AConstantPauseIsOneWhoseLimitIsTheFirst) {
    Backoff backoff(3'000, 3'000);
    EXPECT_EQ(backoff.next_ms(), 3'000);
    EXPECT_EQ(backoff.next_ms(), 3'000);
}

TEST(Backoff, VariesByAQuarter) {
    EXPECT_EQ(varied_ms(1'000, 0), 750);
    EXPECT_EQ(varied_ms(1'000, 500), 1'250);
    EXPECT_EQ(varied_ms(1'000, 501), 750);
    EXPECT_EQ(varied_ms(0, UINT64_MAX), 0);
    bool differ = false;
    const int64_t first = varied_ms(30'000);
    for (int i = 0; i < 100; ++i) {
        const int64_t ms = varied_ms(30'000);
        ASSERT_TRUE(ms >= 22'500 && ms <= 37'500) << ms;
        differ |= ms != first;
    }
    EXPECT_TRUE(differ);
}

}  // namespace
}  // namespace runtime

#include "service/rtc/play/playout_delay.h"

#include <gtest/gtest.h>

namespace service::rtc {
namespace {

TEST(PlayoutDelay, ALossyViewerWaitsForTwoRoundTrips) {
    PlayoutDelay delay(400);
    EXPECT_FALSE(delay.on_report({.fraction_lost = 8, .round_trip_ms = 100, .jitter_ms = 5}, 1'000));
    EXPECT_TRUE(delay.on_report({.fraction_lost = 8, .round_trip_ms = 100, .jitter_ms = 5}, 2'000));
    EXPECT_EQ(delay.ms(), 255);
    EXPECT_FALSE(delay.on_report({.fraction_lost = 8, .round_trip_ms = 105, .jitter_ms = 5}, 3'000));
    EXPECT_TRUE(delay.on_report({.fraction_lost = 8, .round_trip_ms = 500}, 4'000));
    EXPECT_EQ(delay.ms(), 400) << "not longer than that";
}

TEST(PlayoutDelay, NoDelayWithoutLossNorForASingleOne) {
    PlayoutDelay delay(400);
    for (int64_t second = 0; second < 100; ++second) {
        const uint32_t lost = second % 20 == 0 ? 20 : 1;
        EXPECT_FALSE(delay.on_report({.fraction_lost = lost, .round_trip_ms = 300}, second * 1'000)) << second;
    }
    EXPECT_EQ(delay.ms(), 0);
}

TEST(PlayoutDelay, BecomesShorterSlowlyAndEnds) {
    PlayoutDelay delay(400);
    for (const int64_t ms : {1'000, 2'000}) (void)delay.on_report({.fraction_lost = 8, .round_trip_ms = 300}, ms);
    ASSERT_EQ(delay.ms(), 400);
    EXPECT_FALSE(delay.on_report({.round_trip_ms = 300}, 11'000));
    EXPECT_TRUE(delay.on_report({.round_trip_ms = 300}, 12'000));
    EXPECT_EQ(delay.ms(), 360);
    int changes = 0;
    for (int64_t second = 13; second < 400; ++second)
        changes += delay.on_report({.round_trip_ms = 300}, second * 1'000);
    EXPECT_EQ(delay.ms(), 0);
    EXPECT_LE(changes, 25);
}

TEST(PlayoutDelay, IsOffWhereTheMostIsNothing) {
    PlayoutDelay delay(0);
    for (int64_t second = 0; second < 10; ++second)
        EXPECT_FALSE(delay.on_report({.fraction_lost = 100, .round_trip_ms = 300}, second * 1'000));
}

}  // namespace
}  // namespace service::rtc

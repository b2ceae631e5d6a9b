#include "service/rtc/play/playout_delay.h"

#include <gtest/gtest.h>

#include "service/rtc/play/losses.h"

namespace service::rtc {
namespace {

TEST(Losses, AreTwoReportsOfThemNearToEachOther) {
    Losses losses;
    EXPECT_FALSE(losses.within(1'000, 0));
    losses.on_report(8, 1'000);
    EXPECT_FALSE(losses.within(1'000, 1'000));
    losses.on_report(8, 20'000);
    EXPECT_FALSE(losses.within(1'000, 20'000));
    losses.on_report(1, 21'000);
    EXPECT_FALSE(losses.within(1'000, 21'000)) << "next to nothing";
    losses.on_report(2, 22'000);
    EXPECT_TRUE(losses.within(1'000, 22'000));
    EXPECT_FALSE(losses.within(1'000, 23'000));
    EXPECT_TRUE(losses.within(30'000, 23'000));
}

TEST(Losses, RequestsForPacketsAreOfTheSameLossesWhenTheyComeTogether) {
    Losses losses;
    for (int64_t ms = 1'000; ms < 1'200; ms += 10) losses.on_request(ms);
    EXPECT_FALSE(losses.within(1'000, 1'200));
    losses.on_request(1'500);
    EXPECT_TRUE(losses.within(1'000, 1'500));
}

TEST(PlayoutDelay, ALossyViewerWaitsForTwoRoundTrips) {
    PlayoutDelay delay(400);
    EXPECT_FALSE(delay.on_report({.round_trip_ms = 100, .jitter_ms = 5}, 1'000));
    EXPECT_TRUE(delay.on_report({.is_lossy = true, .round_trip_ms = 100, .jitter_ms = 5}, 2'000));
    EXPECT_EQ(delay.ms(), 255);
    EXPECT_FALSE(delay.on_report({.is_lossy = true, .round_trip_ms = 105, .jitter_ms = 5}, 3'000));
    EXPECT_TRUE(delay.on_report({.is_lossy = true, .round_trip_ms = 500}, 4'000));
    EXPECT_EQ(delay.ms(), 400) << "not longer than that";
}

TEST(PlayoutDelay, BecomesShorterSlowlyAndEnds) {
    PlayoutDelay delay(400);
    ASSERT_TRUE(delay.on_report({.is_lossy = true, .round_trip_ms = 300}, 2'000));
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
        EXPECT_FALSE(delay.on_report({.is_lossy = true, .round_trip_ms = 300}, second * 1'000));
}

}  // namespace
}  // namespace service::rtc

#include "service/rtc/play/bandwidth.h"

#include <gtest/gtest.h>

namespace service::rtc {
namespace {

// A viewer of a stream of 1,000 kbit/s, whose feedback comes each 200 ms.
struct Link {
    Bandwidth bandwidth;
    int64_t now_ms = 10'000;
    uint64_t sent = 0, stream = 0;
    uint32_t kbps = 1'000;  // that it is sent

    // remb_kbps: 0: it has none.
    void report(uint64_t remb_kbps, uint32_t round_trip_ms, uint32_t fraction_lost = 0) {
        now_ms += 200;
        stream += 1'000 * 200 / 8;
        sent += kbps * 200 / 8;
        bandwidth.on_sent(sent, stream, now_ms);
        bandwidth.on_round_trip(round_trip_ms, fraction_lost, now_ms);
        if (remb_kbps > 0) bandwidth.on_remb(remb_kbps * 1'000, now_ms);
        bandwidth.tick(now_ms);
    }
    void report_for(int64_t ms, uint64_t remb_kbps, uint32_t round_trip_ms, uint32_t fraction_lost = 0) {
        for (const int64_t end = now_ms + ms; now_ms < end;) report(remb_kbps, round_trip_ms, fraction_lost);
    }
};

TEST(Bandwidth, IsShortOnceAQueueConfirmsALowEstimate) {
    Link link;
    link.report_for(2'000, 2'000, 40);
    EXPECT_FALSE(link.bandwidth.wants_round_trip(link.now_ms));
    link.report(850, 45);
    EXPECT_FALSE(link.bandwidth.is_short());
    EXPECT_TRUE(link.bandwidth.wants_round_trip(link.now_ms));
    link.report(850, 160);
    EXPECT_TRUE(link.bandwidth.is_short());
    EXPECT_EQ(link.bandwidth.kbps(), 850u / 8 * 7);
    EXPECT_NEAR(link.bandwidth.take_queue_ms(), 120, 5);
    EXPECT_EQ(link.bandwidth.take_queue_ms(), 0u);
    link.report(850, 160);
    EXPECT_EQ(link.bandwidth.take_queue_ms(), 0u) << "it is the same";
    link.report_for(600, 850, 160);
    EXPECT_NEAR(link.bandwidth.take_queue_ms(), 120, 8);
}

TEST(Bandwidth, IsShortWhenTheEstimateFallsAgainAndAgain) {
    Link link;
    link.report_for(2'000, 2'000, 40);
    for (const uint64_t remb : {880, 800, 720}) {
        EXPECT_FALSE(link.bandwidth.is_short()) << remb;
        link.report(remb, 40);
    }
    EXPECT_TRUE(link.bandwidth.is_short());
    EXPECT_EQ(link.bandwidth.kbps(), 720u / 8 * 7);
}

// What a busy browser reports, and what a network with random losses does.
TEST(Bandwidth, ALowEstimateAloneIsNoShortLink) {
    Link link;
    link.report_for(2'000, 2'000, 40);
    for (int i = 0; i < 20; ++i) {
        link.report(500, 40);
        link.report_for(3'000, 510, 45);
    }
    EXPECT_FALSE(link.bandwidth.is_short());
    link.report_for(2'000, 1'500, 45);
    link.report_for(10'000, 1'500, 400);
    EXPECT_FALSE(link.bandwidth.is_short()) << "a queue alone: its estimate has room";
}

TEST(Bandwidth, FollowsTheEstimateAndRisesWhenNothingSpeaksAgainstIt) {
    Link link;
    link.report_for(2'000, 2'000, 40);
    link.report(600, 40);
    link.report(600, 200);
    ASSERT_TRUE(link.bandwidth.is_short());
    link.kbps = 600;
    const uint32_t first = link.bandwidth.kbps();
    link.report_for(1'500, 500, 40);
    EXPECT_EQ(link.bandwidth.kbps(), first) << "a lower estimate without a queue is of what it was sent";
    link.report_for(1'000, 700, 40);
    EXPECT_GT(link.bandwidth.kbps(), first);
    EXPECT_LE(link.bandwidth.kbps(), 700u);
    const uint32_t before = link.bandwidth.kbps();
    link.report(500, 140);
    link.report(500, 140);
    EXPECT_LT(link.bandwidth.kbps(), before);
    link.report_for(2'000, 500, 40);
    EXPECT_LT(link.bandwidth.kbps(), before);
    link.report_for(20'000, 500, 40);
    EXPECT_FALSE(link.bandwidth.is_short()) << "it takes the stream again";
}

TEST(Bandwidth, WithoutAnEstimateOfTheViewerLossesAndAQueueTellOfAShortLink) {
    Link link;
    link.report_for(2'000, 0, 40);
    link.report_for(2'000, 0, 45, 60);
    EXPECT_FALSE(link.bandwidth.is_short()) << "random loss";
    link.report_for(2'000, 0, 300);
    EXPECT_FALSE(link.bandwidth.is_short()) << "a longer way";
    link.report(0, 600, 128);
    ASSERT_TRUE(link.bandwidth.is_short());
    EXPECT_NEAR(link.bandwidth.kbps(), 400, 50) << "half of it was lost";
}

TEST(Bandwidth, NeverFallsToNothing) {
    Link link;
    link.report_for(2'000, 2'000, 40);
    for (uint64_t remb = 800; remb > 0; remb = remb * 9 / 10) link.report(remb, 400);
    EXPECT_TRUE(link.bandwidth.is_short());
    EXPECT_GE(link.bandwidth.kbps(), Bandwidth::kLeastKbps);
    for (const uint64_t remb : {uint64_t{0}, UINT64_MAX, uint64_t{1}}) link.report(remb, UINT32_MAX);
    EXPECT_GE(link.bandwidth.kbps(), Bandwidth::kLeastKbps);
}

TEST(Bandwidth, NeverGrowsBeyondAllMeasure) {
    Bandwidth bandwidth;
    for (int64_t ms = 1'000; ms < 1'000'000; ms += 400) {
        bandwidth.on_sent(static_cast<uint64_t>(ms), 0, ms);
        bandwidth.on_round_trip(ms < 3'000 ? 40 : ms < 4'000 ? 400 : 41, ms < 4'000 ? 100 : 0, ms);
        bandwidth.tick(ms);
        EXPECT_LE(bandwidth.kbps(), Bandwidth::kMostKbps);
    }
    EXPECT_TRUE(bandwidth.is_short()) << "the stream has nothing to compare it with";
}

}  // namespace
}  // namespace service::rtc

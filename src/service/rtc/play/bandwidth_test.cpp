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
    bool has_layers = false;

    // remb_kbps: 0: it has none.
    void report(uint64_t remb_kbps, uint32_t round_trip_ms, uint32_t fraction_lost = 0) {
        now_ms += 200;
        stream += 1'000 * 200 / 8;
        sent += kbps * 200 / 8;
        bandwidth.on_sent(sent, stream, now_ms);
        bandwidth.on_round_trip(round_trip_ms, fraction_lost, now_ms);
        if (remb_kbps > 0) bandwidth.on_remb(remb_kbps * 1'000, has_layers, now_ms);
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

// What is sent of the larger layer meanwhile is lost.
TEST(Bandwidth, OneFallByAQuarterIsEnoughWhereThereIsASmallerLayer) {
    Link link;
    link.has_layers = true;
    link.report_for(2'000, 1'100, 40);
    link.report(840, 40);
    EXPECT_FALSE(link.bandwidth.is_short()) << "it is less than a quarter";
    link.report_for(2'000, 1'100, 40);
    link.report(800, 40);
    EXPECT_TRUE(link.bandwidth.is_short());
    EXPECT_EQ(link.bandwidth.kbps(), 700u);
    Link other;
    other.has_layers = true;
    other.report_for(2'000, 2'000, 40);
    other.report(1'400, 40);
    EXPECT_FALSE(other.bandwidth.is_short()) << "it is more than what is sent";
}

// Less was sent before: browsers estimate at most 1.5 times of it, and then 8 % more a second.
TEST(Bandwidth, AnEstimateThatIsLowAndRisesIsNoSuspicion) {
    Link link;
    link.kbps = 300;
    link.report_for(4'000, 400, 40);
    link.kbps = 1'000;
    for (uint64_t remb = 400; remb < 900; remb += remb / 60) {
        link.report(remb, link.now_ms % 1'000 == 0 ? 140 : 40);
        EXPECT_FALSE(link.bandwidth.is_short() || link.bandwidth.wants_round_trip(link.now_ms)) << remb;
    }
    // A link that is short then is told by what else there is.
    link.report(1'000, 600, 100);
    link.report(1'000, 600, 100);
    EXPECT_FALSE(link.bandwidth.is_short()) << "REMB tells that it is not";
    link.report_for(400, 600, 600, 100);
    EXPECT_TRUE(link.bandwidth.is_short());
    Link lagging;
    lagging.kbps = 300;
    lagging.report_for(4'000, 400, 40);
    lagging.kbps = 1'000;
    lagging.report(410, 40);
    lagging.report(415, 600, 100);
    lagging.report(420, 600, 100);
    EXPECT_TRUE(lagging.bandwidth.is_short()) << "and it is not believed where it cannot tell";
    EXPECT_GT(lagging.bandwidth.kbps(), 420u);
}

// The estimate began far above what the link takes, and a smaller layer is sent, which is still too much.
TEST(Bandwidth, AQueueThatStaysTellsThatTheLinkTakesLessThanIsSent) {
    Link link;
    link.has_layers = true;
    link.report_for(2'000, 2'000, 40);
    link.report(1'000, 40);
    link.report(900, 40);
    ASSERT_FALSE(link.bandwidth.is_short());
    link.report(650, 40);
    ASSERT_TRUE(link.bandwidth.is_short());
    link.kbps = 300;
    for (uint32_t queue_ms = 400; queue_ms > 60; queue_ms -= 30) link.report(250, 40 + queue_ms);
    EXPECT_GT(link.bandwidth.kbps(), 300u) << "it becomes shorter";
    link.report_for(1'200, 250, 340);
    EXPECT_LE(link.bandwidth.kbps(), 270u);
}

TEST(Bandwidth, WhatAProbeLeavesDoesNotMakeItLower) {
    Link link;
    link.report_for(2'000, 2'000, 40);
    link.bandwidth.keep(400, 3'000, link.now_ms);
    EXPECT_TRUE(link.bandwidth.is_short());
    link.kbps = 400;
    link.report_for(2'800, 200, 240);
    EXPECT_EQ(link.bandwidth.kbps(), 400u);
    link.report_for(1'000, 200, 240);
    EXPECT_LT(link.bandwidth.kbps(), 400u) << "but a link that has become shorter does";
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
    EXPECT_FALSE(link.bandwidth.is_short()) << "a single report";
    link.report(0, 600, 128);
    ASSERT_TRUE(link.bandwidth.is_short());
    EXPECT_NEAR(link.bandwidth.kbps(), 400, 50) << "half of it was lost";
    link.kbps = link.bandwidth.kbps();
    const int64_t begin_ms = link.now_ms;
    link.report_for(1'000, 0, 400, 100);  // what was on the way
    link.report_for(2'400, 0, 45);
    EXPECT_TRUE(link.bandwidth.is_short()) << "both have ended";
    link.report_for(40'000, 0, 45);
    EXPECT_FALSE(link.bandwidth.is_short());
    link.report_for(400, 0, 600, 100);
    EXPECT_TRUE(link.bandwidth.is_short()) << "again, after " << link.now_ms - begin_ms << " ms";
}

// Losses and delays that are random go on where less is sent. The client has REMB only while packets carry the times of
// sending, and then a low one, because of the delays.
TEST(Bandwidth, RandomLossesOnAWayOfVaryingDelayAreAFalseAlarmThatEndsSoon) {
    Link link;
    link.report_for(2'000, 0, 2);
    struct Report {
        uint32_t round_trip_ms, fraction_lost;
    };
    const Report reports[] = {{215, 9},  {384, 24}, {291, 15}, {176, 0},  {362, 13}, {248, 18},
                              {399, 14}, {301, 10}, {188, 21}, {352, 16}, {270, 5},  {333, 19}};
    int64_t short_ms = 0, alarms = 0;
    for (int i = 0; i < 80; ++i) {
        const bool was_short = link.bandwidth.is_short();
        const Report& report = reports[static_cast<size_t>(i) % std::size(reports)];
        link.now_ms += 400;
        link.sent += 1'000 * 400 / 8, link.stream += 1'000 * 400 / 8;
        link.report(was_short ? 350 : 0, report.round_trip_ms, report.fraction_lost);
        short_ms += was_short ? 600 : 0;
        alarms += !was_short && link.bandwidth.is_short();
        EXPECT_TRUE(!link.bandwidth.is_short() || link.bandwidth.kbps() > 650) << "less is sent meanwhile, not nothing";
        EXPECT_LE(link.bandwidth.take_queue_ms(), alarms > 0 && !was_short ? 400u : 0u) << "the video waits only once";
    }
    EXPECT_EQ(alarms, 1) << "in 48 s";
    EXPECT_LE(short_ms, 4'500);
    EXPECT_GE(link.bandwidth.kbps(), 2'000u - 10) << "what was held back is sent soon";
}

// After its false alarm the viewer's own estimate counts.
TEST(Bandwidth, AfterAFalseAlarmAQueueStillConfirmsALowEstimate) {
    Link link;
    link.report_for(2'000, 0, 40);
    link.report_for(8'000, 0, 300, 30);
    EXPECT_FALSE(link.bandwidth.is_short());
    link.report_for(6'000, 2'000, 40);
    link.report_for(400, 700, 200);
    EXPECT_TRUE(link.bandwidth.is_short());
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

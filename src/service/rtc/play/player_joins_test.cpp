// Players that join: what they begin with, whom they ask for a keyframe, and how they leave.
#include <algorithm>

#include "service/rtc/play/player_testing.h"

namespace service::rtc {
namespace {

using testing::KeyframeCounter;
using testing::PlayerTest;
using testing::Viewer;

TEST_F(PlayerTest, BeginsAtTheNewestKeyframeWithTheSoundOfNow) {
    put(0, 100, "old", true);
    put(1, 10, "oldsound");
    put(0, 200, "sps");
    put(0, 200, "idr", true);
    put(1, 20, "oldsound");
    put(0, 300, "p");
    auto viewer = view();
    settle();
    EXPECT_EQ(viewer->got(), "v1002:sps v1003:idr v1004:p ");
    put(1, 30, "sound");
    put(0, 400, "p");
    settle();
    EXPECT_EQ(viewer->got(), "a1001:sound v1005:p ");
}

TEST_F(PlayerTest, WaitsForAKeyframeAndAsksForIt) {
    KeyframeCounter source;
    lane.set_keyframe_source(&source);
    put(0, 100, "p");
    auto a = view(), b = view();
    settle();
    put(0, 200, "p");
    put(1, 20, "sound");
    settle();
    EXPECT_EQ(a->got(), "a1001:sound ");
    EXPECT_EQ(source.asked, 1);  // one request for both
    put(0, 300, "idr", true);
    put(0, 400, "p");
    settle();
    EXPECT_EQ(a->got(), "v1002:idr v1003:p ");
    EXPECT_EQ(b->got(), "a1001:sound v1002:idr v1003:p ");
}

TEST_F(PlayerTest, AKeyframeWhosePacketsOvertookEachOther) {
    put_as(0, 5, 100, "p");
    put_as(0, 7, 200, "idr2", true);
    put_as(0, 6, 200, "idr1", true);
    put_as(0, 8, 200, "idr3");
    auto viewer = view();
    settle();
    EXPECT_EQ(viewer->got(), "v1003:idr2 v1002:idr1 v1004:idr3 ");
}

TEST_F(PlayerTest, AnswersOfThePublisherAreWaitedForRatherThanMuchSent) {
    put(0, 100, "idr", true);
    for (uint32_t i = 0; i < 400; ++i) put(0, 200 + i, std::string(1000, 'x'));
    auto frames = view();
    EXPECT_TRUE(wait_for([&] { return frames->session.sent.size() == 401; }));
    KeyframeCounter source;
    lane.set_keyframe_source(&source);
    auto rtp = view();
    settle();
    put(0, 1000, "p");
    settle();
    EXPECT_EQ(rtp->got(), "");
    EXPECT_EQ(source.asked, 1);
    put(0, 1100, "idr", true);
    settle();
    EXPECT_EQ(rtp->got(), "v1002:idr ");
}

TEST_F(PlayerTest, APublisherThatSendsNoKeyframeIsNotWaitedForLong) {
    put(0, 100, "idr", true);
    for (uint32_t i = 0; i < 400; ++i) put(0, 200 + i, std::string(1000, 'x'));
    KeyframeCounter source;
    lane.set_keyframe_source(&source);
    auto viewer = view();
    settle();
    EXPECT_EQ(viewer->got(), "");
    const auto everything = [&] {
        put(0, 1000, "p");
        return viewer->session.sent.size() > 401;
    };
    EXPECT_TRUE(wait_for(everything));
    EXPECT_EQ(source.asked, 1);
}

TEST_F(PlayerTest, OneKeyframeServesAllWhoJoin) {
    KeyframeCounter source;
    lane.set_keyframe_source(&source);
    put(0, 100, "p");
    auto first = view();
    settle();
    EXPECT_EQ(source.asked, 1) << "there is none to begin at";
    put(0, 200, "idr", true);
    for (uint32_t i = 0; i < 300; ++i) put(0, 300 + i, std::string(1000, 'x'));
    auto second = view();
    EXPECT_TRUE(wait_for([&] { return second->session.sent.size() == 301; })) << "at once, though it is much";
    EXPECT_EQ(source.asked, 1);
}

TEST_F(PlayerTest, RequestsForKeyframesAreMerged) {
    KeyframeCounter source;
    lane.set_keyframe_source(&source);
    put(0, 100, "idr", true);
    auto a = view(), b = view();
    settle();
    for (int i = 0; i < 20; ++i) {
        a->pli();
        b->pli();
    }
    EXPECT_EQ(source.asked, 1);
    EXPECT_EQ(a->player->counters().keyframe_requests, 20u);
}

TEST_F(PlayerTest, WhoComesAfterAnotherSourceWaitsForItsKeyframe) {
    put(0, 100, "idr", true);
    lane.restart_track(0);
    put_as(0, 40'000, 7'000'000, "P");
    auto viewer = view();
    settle();
    EXPECT_EQ(viewer->got(), "");
    put_as(0, 40'001, 7'003'000, "IDR", true);
    settle();
    EXPECT_EQ(viewer->got(), "v1002:IDR ");
}

TEST_F(PlayerTest, ABurstIsSpreadAndNothingIsLost) {
    put(0, 100, "k", true);
    for (uint32_t i = 0; i < 500; ++i) put(0, 200 + i, "x");
    auto viewer = view();
    settle();
    EXPECT_LT(viewer->session.sent.size(), 400u);
    EXPECT_TRUE(wait_for([&] { return viewer->session.sent.size() == 501; })) << viewer->session.sent.size();
}

TEST_F(PlayerTest, LeavesAtTheEndAndWhenDestroyed) {
    auto a = view(), b = view();
    EXPECT_EQ(lane.players(), 2u);
    a->player->on_closed();
    EXPECT_EQ(lane.players(), 1u);
    a.reset();
    b.reset();
    EXPECT_EQ(lane.players(), 0u);
}

// Viewers leave and join while the pump iterates: none is called after it has ended, and none misses a packet.
TEST_F(PlayerTest, ViewersLeaveWhileThePumpWalks) {
    put(0, 100, "idr", true);
    std::vector<std::unique_ptr<Viewer>> viewers;
    for (int i = 0; i < 120; ++i) viewers.push_back(view());
    runtime::Task leaver = runtime::spawn("leaver", [&] {
        for (int i = 0; i < 60; ++i) {
            viewers.erase(viewers.begin() + (i * 7) % static_cast<int>(viewers.size()));
            if (i % 3 == 0) viewers.push_back(view());
            (void)runtime::yield();
        }
    });
    for (uint32_t i = 0; i < 100; ++i) {
        put(0, 200 + i, "p");
        (void)runtime::yield();
    }
    leaver.cancel_and_join();
    EXPECT_EQ(lane.players(), viewers.size());
    EXPECT_TRUE(wait_for(
        [&] { return std::ranges::all_of(viewers, [](auto& viewer) { return viewer->session.sent.size() == 101; }); }));
}

}  // namespace
}  // namespace service::rtc

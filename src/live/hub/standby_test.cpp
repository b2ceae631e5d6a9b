#include "live/hub/standby.h"

#include <gtest/gtest.h>

#include "live/hub/owner_testing.h"

namespace live {
namespace {

using media::Kind;
using testing::Owner;
using Reason = StandbyReason;

constexpr int64_t kTimeoutMs = 1'000;

struct StandbyQueueTest : ::testing::Test {
    StandbyPublisher& add(Owner& owner, int priority = 0) {
        queue.add(owner, priority, now);
        return *queue.find(owner);
    }
    // Video of 25 frames a second for so long, of every owner, each frame a keyframe where `keyframes`.
    void send(std::initializer_list<Owner*> owners, int64_t ms, bool keyframes = false) {
        for (const int64_t end = now + ms; now < end; now += 40)
            for (Owner* owner : owners) (void)queue.record_media(*queue.find(*owner), Kind::kVideo, keyframes, now);
    }
    std::optional<Reason> decide(Owner& owner, int active_priority = 0) {
        return queue.may_take_over(*queue.find(owner), active_priority, now);
    }
    void keep_active(int64_t ms) {
        for (const int64_t end = now + ms; now < end; now += 100)
            (void)queue.update_active({.audio_frames = ++frames}, now);
    }

    int64_t now = 1'000'000;
    uint64_t frames = 0;
    Owner a, b, c;
    StandbyQueue queue{{.mode = StandbyMode::kOn, .timeout_ms = kTimeoutMs, .max = 4}};
};

TEST(StandbyPriority, ComesFromTheUrl) {
    EXPECT_EQ(standby_priority("?priority=2"), 2);
    EXPECT_EQ(standby_priority("token=x&priority=-7&a=b"), -7);
    EXPECT_EQ(standby_priority("?priority=100"), 100);
    for (const char* none : {"", "?", "?priority", "?priority=", "?priority=x", "?priority=1x", "?priority=101",
                             "?priority=-101", "?priority=99999999999999999999", "?a=priority=3", "?priority= 3"})
        EXPECT_EQ(standby_priority(none), 0) << none;
}

TEST(StandbyOptions, TheTimeoutIsAboveTheTimeBetweenTwoReads) {
    config::Vhost vhost;
    vhost.publish.standby = StandbyMode::kOn;
    vhost.publish.standby_timeout = 2'000;
    vhost.publish.mr_latency = 4'000;
    vhost.play.mw_latency = 350;
    EXPECT_EQ(standby_options(vhost).timeout_ms, 2'000);
    vhost.play.mw_latency = 1'500;
    EXPECT_EQ(standby_options(vhost).timeout_ms, 3'000);
    vhost.publish.mr = true;
    EXPECT_EQ(standby_options(vhost).timeout_ms, 8'000);
    EXPECT_TRUE(standby_options(vhost).enabled());
    EXPECT_FALSE(standby_options(config::Vhost()).enabled());
}

TEST_F(StandbyQueueTest, BeginsAtAKeyframe) {
    StandbyPublisher& one = add(a);
    EXPECT_FALSE(queue.record_media(one, Kind::kAudio, false, now)) << "video may follow";
    EXPECT_FALSE(queue.record_media(one, Kind::kVideo, false, now + 40));
    EXPECT_TRUE(queue.record_media(one, Kind::kVideo, true, now + 80));
    EXPECT_FALSE(queue.record_media(one, Kind::kAudio, false, now + 1'500)) << "it has video";
    EXPECT_TRUE(queue.record_media(one, Kind::kAudio, false, now + 80 + StandbyQueue::kVideoPauseMs))
        << "its video has paused";
}

TEST_F(StandbyQueueTest, WithoutVideoBeginsAtAudio) {
    StandbyPublisher& one = add(a);
    for (int64_t at = 0; at < StandbyQueue::kFirstVideoMs; at += 20)
        EXPECT_FALSE(queue.record_media(one, Kind::kAudio, false, now + at)) << at;
    EXPECT_TRUE(queue.record_media(one, Kind::kAudio, false, now + StandbyQueue::kFirstVideoMs));
    // After a pause it is as new: its video may follow.
    EXPECT_FALSE(queue.record_media(one, Kind::kAudio, false, now + 10'000));
}

TEST_F(StandbyQueueTest, TheBestIsTheOneOfTheHighestPriorityThatSends) {
    add(a);
    add(b, 2);
    add(c, 2);
    EXPECT_EQ(queue.best(now), nullptr) << "none sends";
    send({&a}, 200);
    ASSERT_NE(queue.best(now), nullptr);
    EXPECT_EQ(queue.best(now)->owner, &a) << "the others do not send";
    send({&a, &b, &c}, 200);
    EXPECT_EQ(queue.best(now)->owner, &b) << "of those of the highest priority it waits longest";
    send({&a, &c}, kTimeoutMs);
    EXPECT_EQ(queue.best(now)->owner, &c) << "b has been silent";
    EXPECT_FALSE(queue.is_sending(*queue.find(b), now));
    ASSERT_TRUE(queue.take(c));
    EXPECT_FALSE(queue.take(c));
    EXPECT_EQ(queue.best(now)->owner, &a);
}

TEST_F(StandbyQueueTest, TakesOverWhenTheActiveOneHasLeft) {
    add(a);
    add(b, 1);
    queue.begin_active(now);
    send({&a, &b}, 400);
    EXPECT_EQ(decide(b), std::nullopt);
    EXPECT_EQ(queue.next(0, now), nullptr);
    queue.end_active(now);
    EXPECT_EQ(decide(b), Reason::kLeft);
    EXPECT_EQ(decide(a), std::nullopt) << "the better one comes first";
    EXPECT_EQ(queue.next(0, now)->owner, &b);
    send({&a, &b}, kTimeoutMs);
    EXPECT_EQ(decide(a), Reason::kLeft) << "the better one had time for a keyframe";
    queue.begin_active(now);
    EXPECT_EQ(decide(b), std::nullopt);
}

TEST_F(StandbyQueueTest, TakesOverFromAFrozenOne) {
    add(a);
    queue.begin_active(now);
    keep_active(3 * kTimeoutMs);
    send({&a}, 40);
    EXPECT_FALSE(queue.active_is_frozen());
    const int64_t last = now - 140;
    for (; now - last < kTimeoutMs; now += 100) EXPECT_FALSE(queue.update_active({.audio_frames = frames}, now));
    send({&a}, 40);
    EXPECT_TRUE(queue.update_active({.audio_frames = frames}, now));
    EXPECT_FALSE(queue.update_active({.audio_frames = frames}, now)) << "it is reported once";
    EXPECT_EQ(decide(a), Reason::kFrozen);
    (void)queue.update_active({.audio_frames = ++frames}, now);
    EXPECT_EQ(decide(a), std::nullopt) << "it is back";
}

TEST_F(StandbyQueueTest, AudioAloneDoesNotMakeVideoAlive) {
    queue.begin_active(now);
    (void)queue.update_active({.has_video = true, .video_frames = 5, .audio_frames = 1}, now);
    for (int i = 0; i < 10; ++i) {
        now += 100;
        (void)queue.update_active({.has_video = true, .video_frames = 5, .audio_frames = 2 + static_cast<uint64_t>(i)},
                                  now);
    }
    EXPECT_TRUE(queue.active_is_frozen());
}

TEST_F(StandbyQueueTest, ADeadConnectionIsFrozenAtOnce) {
    add(a);
    queue.begin_active(now);
    keep_active(500);
    send({&a}, 40);
    EXPECT_TRUE(queue.update_active({.alive = false, .audio_frames = ++frames}, now));
    EXPECT_EQ(decide(a), Reason::kFrozen);
}

TEST_F(StandbyQueueTest, AStallOfTheLoopBlamesNobody) {
    queue.begin_active(now);
    keep_active(500);
    now += 10 * kTimeoutMs;
    EXPECT_FALSE(queue.update_active({.audio_frames = frames}, now)) << "nothing was read meanwhile";
    for (int i = 0; i < 12; ++i) (void)queue.update_active({.audio_frames = frames}, now += 100);
    EXPECT_TRUE(queue.active_is_frozen()) << "it is silent after the stall, too";
}

TEST_F(StandbyQueueTest, AHigherPriorityPreemptsWhereThatIsAllowedAndItIsSteady) {
    add(a, 5);
    queue.begin_active(now);
    send({&a}, 2 * kTimeoutMs);
    keep_active(100);
    EXPECT_EQ(decide(a, 4), std::nullopt) << "standby on";
    queue.set_options({.mode = StandbyMode::kPreempt, .timeout_ms = kTimeoutMs, .max = 4});
    EXPECT_EQ(decide(a, 4), Reason::kPriority);
    EXPECT_EQ(decide(a, 5), std::nullopt) << "an equal priority does not preempt";
    now += 2 * kTimeoutMs;
    keep_active(100);
    send({&a}, kTimeoutMs / 2);
    EXPECT_EQ(decide(a, 4), std::nullopt) << "it has just come back";
    send({&a}, kTimeoutMs / 2);
    EXPECT_EQ(decide(a, 4), Reason::kPriority);
}

}  // namespace
}  // namespace live

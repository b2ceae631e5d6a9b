#include "live/hub/health.h"

#include <gtest/gtest.h>

#include "live/fanout/send_latency.h"
#include "live/hub/testing.h"

namespace live {
namespace {

using media::Frame;
using media::Kind;

void give(Health& health, const Frame& frame, int64_t now_ms) {
    if (health.record(frame)) health.record_window_end(now_ms);
}

// 25 video frames a second, a keyframe each gop_ms, and audio frames of 20 ms; the tracks' clocks may be off by a part
// in 1000.
void play(Health& health, int64_t seconds, int64_t gop_ms, int video_ppm = 0, int audio_ppm = 0) {
    constexpr int64_t kBegin = 1'000'000;
    for (int64_t ms = 0; ms < seconds * 1000; ms += 20) {
        give(health, testing::audio(ms + ms * audio_ppm / 1000, "aaaa"), kBegin + ms);
        if (ms % 40 == 0)
            give(health, testing::video(ms + ms * video_ppm / 1000, ms % gop_ms == 0, "vvvvvvvvvv"), kBegin + ms);
    }
}

TEST(Health, AWindowIsAGop) {
    Health health;
    health.restart(1'000'000);
    play(health, 60, 2000);
    EXPECT_EQ(health.last_gop_ms(), 2000);
    EXPECT_EQ(health.longest_gop_ms(), 2000);
    EXPECT_EQ(health.keyframes(), 30u);
    EXPECT_EQ(health.keyframe_at_ms(), 1'058'000);
    ASSERT_EQ(health.windows(), Health::kWindows);
    const Health::Window recent = health.recent();
    EXPECT_EQ(recent.ms(), static_cast<int64_t>(Health::kWindows) * 2000);
    EXPECT_EQ(recent.video_frames, 25 * recent.ms() / 1000);
    EXPECT_EQ(recent.audio_frames, 50 * recent.ms() / 1000);
    EXPECT_EQ(recent.bytes, recent.video_frames * 10u + recent.audio_frames * 4u);
    EXPECT_EQ(media::to_ms(recent.longest_video_step), 40);
    EXPECT_EQ(recent.b_frames, 0u);
}

TEST(Health, LongGopsAreCutIntoWindowsButMeasuredWhole) {
    Health health;
    health.restart(1'000'000);
    play(health, 100, 30'000);
    EXPECT_EQ(health.longest_gop_ms(), 30'000);
    EXPECT_GT(health.windows(), 8u);
    for (size_t i = 0; i < health.windows(); ++i)
        EXPECT_LE(health.window(i).video_frames + health.window(i).audio_frames, Health::kMaxWindowFrames);
}

TEST(Health, AudioOnly) {
    Health health;
    health.restart(1'000'000);
    for (int64_t ms = 0; ms < 10'000; ms += 20) give(health, testing::audio(ms), 1'000'000 + ms);
    EXPECT_EQ(health.keyframes(), 0u);
    EXPECT_EQ(health.keyframe_at_ms(), 0);
    ASSERT_GT(health.windows(), 4u);
    EXPECT_EQ(health.window(0).audio_frames, Health::kAudioWindowFrames);
    EXPECT_FALSE(health.newest().has_both());
}

TEST(Health, CountsBFrames) {
    Health health;
    health.restart(0);
    // I P B B P B B ..., in decoding order.
    const int32_t cts[] = {40, 120, 0, 0};
    for (int i = 0; i < 100; ++i) {
        Frame frame = testing::video(i * 40, i % 50 == 0);
        frame.cts = media::from_ms(i % 50 == 0 ? cts[0] : (i % 50) % 3 == 1 ? cts[1] : cts[2]);
        give(health, frame, i * 40);
    }
    ASSERT_EQ(health.windows(), 1u);
    EXPECT_EQ(health.window(0).b_frames, 32u);
}

TEST(Health, TimesThatGoBackAreNotALongStep) {
    Health health;
    health.restart(0);
    for (int64_t dts : {0, 40, 20, 60, 2000}) give(health, testing::video(dts, dts % 2000 == 0), dts);
    ASSERT_EQ(health.windows(), 1u);
    EXPECT_EQ(media::to_ms(health.window(0).longest_video_step), 40);
}

TEST(Health, MeasuresDriftOfTracks) {
    Health health;
    health.restart(1'000'000);
    play(health, 200, 2000, 0, 10);  // the audio runs a hundredth fast
    const Health::Point from = health.anchor(), to = health.newest();
    ASSERT_TRUE(from.has_both());
    EXPECT_GE(from.now_ms - 1'000'000, Health::kSettleMs);
    const int64_t real = to.now_ms - from.now_ms;
    EXPECT_GT(real, 180'000);
    EXPECT_NEAR(static_cast<double>(media::to_ms(to.video_dts - from.video_dts)), static_cast<double>(real), 100);
    const int64_t drift = media::to_ms((to.audio_dts - to.video_dts) - (from.audio_dts - from.video_dts));
    EXPECT_NEAR(static_cast<double>(drift), static_cast<double>(real) / 100, 100);
}

TEST(Health, TheAnchorMovesOn) {
    Health health;
    health.restart(1'000'000);
    play(health, 2000, 2000);
    const int64_t age = health.newest().now_ms - health.anchor().now_ms;
    EXPECT_GE(age, Health::kAnchorMs);
    EXPECT_LE(age, 2 * Health::kAnchorMs + 4000);
}

TEST(Health, AnotherPublisherBeginsAnew) {
    Health health;
    health.restart(1'000'000);
    play(health, 60, 2000);
    health.restart(2'000'000);
    EXPECT_EQ(health.keyframes(), 0u);
    EXPECT_EQ(health.windows(), 0u);
    EXPECT_EQ(health.started_ms(), 2'000'000);
}

TEST(SendLatency, Buckets) {
    SendLatency latency;
    latency.add(1'000, 3);
    latency.add(1'001, 2);
    latency.add(9'000'000, 1);
    latency.add(-5, 1);
    EXPECT_EQ(latency.counts[0], 4u);
    EXPECT_EQ(latency.counts[1], 2u);
    EXPECT_EQ(latency.counts.back(), 1u);
    EXPECT_EQ(latency.total, 7u);
    EXPECT_EQ(latency.sum_us, 3'000u + 2'002u + 9'000'000u);
}

}  // namespace
}  // namespace live

#include "live/hub/mix_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace live {
namespace {

media::Frame frame(media::Kind kind, int64_t dts) {
    media::Frame f;
    f.kind = kind;
    f.dts = media::from_ms(dts);
    return f;
}

std::vector<int64_t> drain(MixQueue& queue, int64_t now_ms = 0) {
    std::vector<int64_t> times;
    for (media::Frame f; queue.pop(f, now_ms);) times.push_back(media::to_ms(f.dts));
    return times;
}

TEST(MixQueue, PutsTracksInOrder) {
    MixQueue queue;
    queue.push(frame(media::Kind::kVideo, 0), 0);
    queue.push(frame(media::Kind::kAudio, 0), 0);
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{0, 0}));
    queue.push(frame(media::Kind::kVideo, 40), 0);
    queue.push(frame(media::Kind::kVideo, 80), 0);
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{}));
    queue.push(frame(media::Kind::kAudio, 23), 0);
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{23}));
    queue.push(frame(media::Kind::kAudio, 46), 0);
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{40, 46}));
}

TEST(MixQueue, DoesNotWaitForAMissingTrack) {
    MixQueue queue;
    queue.push(frame(media::Kind::kAudio, 10), 0);
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{10}));
}

TEST(MixQueue, WaitsAtMostKMaxDelayOfStreamTime) {
    MixQueue queue;
    queue.push(frame(media::Kind::kAudio, 0), 0);
    drain(queue);
    for (int64_t t = 40; t <= 640; t += 40) queue.push(frame(media::Kind::kVideo, t), 0);
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{40, 80, 120}));
    for (media::Frame f; queue.pop_any(f);) {
    }
    EXPECT_TRUE(queue.empty());
}

TEST(MixQueue, WaitsAtMostKMaxDelayByTheClock) {
    MixQueue queue;
    queue.push(frame(media::Kind::kAudio, 0), 1000);
    EXPECT_EQ(drain(queue, 1000), (std::vector<int64_t>{0}));
    // A publisher whose video has one time only: its frames are never older than others.
    for (int i = 0; i < 3; ++i) queue.push(frame(media::Kind::kVideo, 40), 1000 + i * 100);
    EXPECT_EQ(drain(queue, 1500), (std::vector<int64_t>{}));
    EXPECT_EQ(drain(queue, 1501), (std::vector<int64_t>{40}));
    EXPECT_EQ(drain(queue, 2000), (std::vector<int64_t>{40, 40}));
    EXPECT_EQ(queue.memory(), 0u);
}

TEST(MixQueue, HoldsAtMostKMaxBytes) {
    MixQueue queue;
    queue.push(frame(media::Kind::kAudio, 0), 0);
    drain(queue);
    size_t max_memory = 0;
    for (int i = 0; i < 100; ++i) {
        media::Frame large = frame(media::Kind::kVideo, 40);
        large.payload = base::Slice::copy(std::string(1'000'000, 'x'));
        queue.push(std::move(large), 0);
        drain(queue);
        max_memory = std::max(max_memory, queue.memory());
    }
    EXPECT_LE(max_memory, MixQueue::kMaxBytes);
    EXPECT_GT(max_memory, MixQueue::kMaxBytes / 2);
}

TEST(MixQueue, AnotherAudioTrackThatIsAheadReleasesNothing) {
    MixQueue queue;
    media::Frame ahead = testing::audio(100);
    ahead.track = 1;
    queue.push(testing::audio(0), 0);
    queue.push(testing::video(40), 0);
    queue.push(ahead, 0);
    media::Frame out;
    ASSERT_TRUE(queue.pop(out, 0));
    EXPECT_EQ(media::to_ms(out.dts), 0);
    EXPECT_FALSE(queue.pop(out, 0)) << "the first audio track is at 0";
    queue.push(testing::audio(40), 0);
    EXPECT_TRUE(queue.pop(out, 0));
}

}  // namespace
}  // namespace live

#include "live/mix_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace live {
namespace {

media::Frame frame(media::Kind kind, int64_t dts) {
    media::Frame f;
    f.kind = kind;
    f.dts = dts;
    return f;
}

std::vector<int64_t> drain(MixQueue& queue) {
    std::vector<int64_t> times;
    for (media::Frame f; queue.pop(f);) times.push_back(f.dts);
    return times;
}

TEST(MixQueue, PutsTracksInOrder) {
    MixQueue queue;
    queue.push(frame(media::Kind::kVideo, 0));
    queue.push(frame(media::Kind::kAudio, 0));
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{0, 0}));
    queue.push(frame(media::Kind::kVideo, 40));
    queue.push(frame(media::Kind::kVideo, 80));
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{}));
    queue.push(frame(media::Kind::kAudio, 23));
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{23}));
    queue.push(frame(media::Kind::kAudio, 46));
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{40, 46}));
}

TEST(MixQueue, DoesNotWaitForATrackThatNeverCame) {
    MixQueue queue;
    queue.push(frame(media::Kind::kAudio, 10));
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{10}));
}

TEST(MixQueue, WaitsNoLongerThanItsBound) {
    MixQueue queue;
    queue.push(frame(media::Kind::kAudio, 0));
    drain(queue);
    for (int64_t t = 40; t <= 640; t += 40) queue.push(frame(media::Kind::kVideo, t));
    EXPECT_EQ(drain(queue), (std::vector<int64_t>{40, 80, 120}));
    for (media::Frame f; queue.pop_any(f);) {
    }
    EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace live

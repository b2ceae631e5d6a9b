#include "media/decoding_times.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/hex_testing.h"
#include "media/h264.h"
#include "media/h265.h"

namespace media {
namespace {

using std::chrono::milliseconds;

std::vector<int64_t> decode(DecodingTimes& times, std::vector<int> pts) {
    std::vector<int64_t> out;
    for (int ms : pts) out.push_back(to_ms(times.next(milliseconds(ms))));
    return out;
}

TEST(DecodingTimes, AreThePresentationTimesWithoutReordering) {
    DecodingTimes times;
    EXPECT_EQ(decode(times, {0, 40, 80, 120}), (std::vector<int64_t>{0, 40, 80, 120}));
    EXPECT_EQ(times.reordered(), 0);
}

// A pyramid of three B-frames: two frames are reordered.
TEST(DecodingTimes, OfDeclaredReorderingAreExactFromTheFirstFrame) {
    DecodingTimes times;
    times.declare(2, milliseconds(40));
    EXPECT_EQ(decode(times, {80, 240, 160, 120, 200, 400, 320, 280, 360}),
              (std::vector<int64_t>{0, 40, 80, 120, 160, 200, 240, 280, 320}));
}

TEST(DecodingTimes, WithoutADurationTheFirstOnesAreGuessed) {
    DecodingTimes times;
    times.declare(1, Time(0));
    EXPECT_EQ(decode(times, {40, 120, 80, 200, 160}), (std::vector<int64_t>{7, 40, 80, 120, 160}));
}

TEST(DecodingTimes, FindReorderingThatWasNotDeclared) {
    DecodingTimes times;
    auto out = decode(times, {0, 120, 40, 80, 240, 160, 200});
    EXPECT_EQ(times.reordered(), 1);
    EXPECT_EQ(out, (std::vector<int64_t>{0, 120, 120, 120, 120, 160, 200}));  // rising by a tick at first
}

TEST(DecodingTimes, OneWrongTimeDoesNotLast) {
    DecodingTimes times;
    int ms = 0;
    for (int i = 0; i < 100; ++i) times.next(milliseconds(ms += 40));
    times.next(milliseconds(ms - 400));
    EXPECT_EQ(times.reordered(), 10);
    for (int i = 0; i < 1024; ++i) times.next(milliseconds(ms += 40));
    EXPECT_EQ(times.reordered(), 0);
    EXPECT_EQ(to_ms(times.next(milliseconds(ms + 40))), ms + 40);
}

TEST(DecodingTimes, ContinueAfterAGapAndAJump) {
    DecodingTimes times;
    times.declare(1, milliseconds(40));
    decode(times, {40, 120, 80, 200, 160});
    times.restart();
    EXPECT_EQ(decode(times, {1040, 1120, 1080}), (std::vector<int64_t>{1000, 1040, 1080}));
    EXPECT_EQ(decode(times, {10'040, 10'120, 10'080}), (std::vector<int64_t>{10'000, 10'040, 10'080}));
    EXPECT_EQ(decode(times, {40, 120, 80}), (std::vector<int64_t>{0, 40, 80}));
}

TEST(DecodingTimes, RiseWhateverThePresentationTimesAre) {
    DecodingTimes times;
    uint32_t seed = 1;
    Time last = kNoTime;
    for (int i = 0; i < 10'000; ++i) {
        seed = seed * 1103515245 + 12345;
        Time time = times.next(milliseconds(seed >> 16 & 1023));
        EXPECT_GT(time, last) << "frame " << i;
        last = time;
    }
}

// x264's, High, with three B-frames in a pyramid, 25 frames a second.
TEST(DecodingTimes, AreDeclaredByAnSps) {
    auto sps = parse_h264_sps(base::hex("6764001eacd940a02ff9701100000300010000030032 0f162d96"));
    ASSERT_TRUE(sps) << sps.error().text();
    EXPECT_EQ(sps->reordered_frames, 2);
    EXPECT_EQ(sps->frame_duration, Time(milliseconds(40)));
    auto baseline = parse_h264_sps(base::hex("6742c01ed890280bfe5c0440000003004000000c83c58b8980"));
    ASSERT_TRUE(baseline) << baseline.error().text();
    EXPECT_EQ(baseline->reordered_frames, 0);
}

}  // namespace
}  // namespace media

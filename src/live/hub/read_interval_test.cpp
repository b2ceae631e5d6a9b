#include "live/hub/read_interval.h"

#include <gtest/gtest.h>

#include <array>

#include "live/hub/stream.h"
#include "live/hub/testing.h"

namespace live {
namespace {

constexpr int64_t kBeginUs = 1'000'000, kSecondUs = 1'000'000;

// The publisher's first three seconds: reads of 160 ms that bring so many bytes each.
ReadInterval after_three_seconds(size_t bytes) {
    ReadInterval interval;
    for (int64_t us = kBeginUs; us <= kBeginUs + 3 * kSecondUs; us += 160'000) {
        interval.record_read(us, bytes);
        interval.record_media(us);
    }
    return interval;
}

struct ReadIntervalTest : ::testing::Test {
    base::Ref<Stream> stream = base::make_ref<Stream>(nullptr, StreamKey{"v", "live", "s"}, LiveOptions{});
};

TEST_F(ReadIntervalTest, StartsForTwoSecondsOfMedia) {
    ReadInterval interval;
    EXPECT_TRUE(interval.starts()) << "nothing came";
    interval.record_read(kBeginUs, 100);
    EXPECT_TRUE(interval.starts()) << "no media came";
    interval.record_media(kBeginUs);
    interval.record_media(kBeginUs + 2 * kSecondUs - 1);
    EXPECT_TRUE(interval.starts());
    interval.record_media(kBeginUs + 2 * kSecondUs);
    EXPECT_FALSE(interval.starts());
}

TEST_F(ReadIntervalTest, FollowsTheMergeInterval) {
    const ReadInterval interval = after_three_seconds(1000);
    EXPECT_EQ(interval.ms(*stream, 350), 150) << "nobody is sent anything";
    stream->log(testing::kAllText);
    EXPECT_EQ(interval.ms(*stream, 350), 350) << "each pass over the viewers begins with a read";
    EXPECT_EQ(interval.ms(*stream, 0), 0);
}

TEST_F(ReadIntervalTest, AReadBringsABoundedAmount) {
    stream->log(testing::kAllText);
    for (const auto [kbit_per_s, least_ms, most_ms] :
         {std::array<int64_t, 3>{500, 350, 350}, {8'000, 30, 36}, {20'000, 12, 15}, {1'000'000, 5, 5}}) {
        const ReadInterval interval = after_three_seconds(static_cast<size_t>(kbit_per_s * 160 / 8));
        EXPECT_GE(interval.ms(*stream, 350), least_ms) << kbit_per_s;
        EXPECT_LE(interval.ms(*stream, 350), most_ms) << kbit_per_s;
    }
}

}  // namespace
}  // namespace live

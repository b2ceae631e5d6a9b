#include "live/hub/read_interval.h"

#include <gtest/gtest.h>

#include <array>

#include "live/hub/leases.h"
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
    EXPECT_EQ(interval.ms(*stream, {.merge_ms = 350}), 150) << "nobody is sent anything";
    stream->log(testing::kAllText);
    EXPECT_EQ(interval.ms(*stream, {.merge_ms = 350}), 350) << "each pass over the viewers begins with a read";
    EXPECT_EQ(interval.ms(*stream, {.merge_ms = 0}), 0);
}

TEST_F(ReadIntervalTest, ForLowLatencyMessagesAreReadAsTheyArriveOnceSomebodyGetsThem) {
    constexpr ReadInterval::Options kLow{.min_latency = true};
    const ReadInterval interval = after_three_seconds(1000);
    EXPECT_EQ(ReadInterval().ms(*stream, kLow), 0) << "it starts";
    EXPECT_EQ(interval.ms(*stream, kLow), 150) << "nobody is there";
    stream->log(testing::kAllText);
    EXPECT_EQ(interval.ms(*stream, kLow), 0) << "a viewer";
}

TEST_F(ReadIntervalTest, ForLowLatencyPlayersOfFilesCount) {
    const ReadInterval interval = after_three_seconds(1000);
    stream->expect_file_players(runtime::now_ms() + 60'000);
    EXPECT_EQ(interval.ms(*stream, {.min_latency = true}), 0);
}

struct ReadOwner : PublicationOwner {
    bool publisher_alive() const override { return true; }
    bool read_now() override {
        ++reads;
        return true;
    }
    void publication_revoked(std::string_view, base::CloseReason) override {}
    int reads = 0;
};

TEST_F(ReadIntervalTest, TheFirstPlayerHasThePublisherRead) {
    ReadOwner owner;
    Publication publication = *stream->acquire(owner, false);
    EXPECT_EQ(owner.reads, 0);
    stream->expect_file_players(runtime::now_ms() + 60'000);
    EXPECT_EQ(owner.reads, 1);
    stream->expect_file_players(runtime::now_ms() + 61'000);
    EXPECT_EQ(owner.reads, 1) << "they were there already";
    PlayerLease first(stream), second(stream);
    EXPECT_EQ(owner.reads, 2);
}

TEST_F(ReadIntervalTest, AReadBringsABoundedAmount) {
    stream->log(testing::kAllText);
    for (const auto [kbit_per_s, least_ms, most_ms] :
         {std::array<int64_t, 3>{500, 350, 350}, {8'000, 30, 36}, {20'000, 12, 15}, {1'000'000, 5, 5}}) {
        const ReadInterval interval = after_three_seconds(static_cast<size_t>(kbit_per_s * 160 / 8));
        EXPECT_GE(interval.ms(*stream, {.merge_ms = 350}), least_ms) << kbit_per_s;
        EXPECT_LE(interval.ms(*stream, {.merge_ms = 350}), most_ms) << kbit_per_s;
    }
}

}  // namespace
}  // namespace live

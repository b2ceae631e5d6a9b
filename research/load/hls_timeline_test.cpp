#include "load/hls_timeline.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace load {
namespace {

constexpr int64_t kSecond = 1'000'000;

m3u8::MediaPlaylist playlist(uint64_t first, uint64_t count) {
    m3u8::MediaPlaylist out;
    out.target_duration_s = 2;
    out.media_sequence = first;
    for (uint64_t i = 0; i < count; ++i) {
        m3u8::Segment segment;
        segment.uri = fmt::format("{}.ts", first + i);
        segment.duration_us = 2'000'000;
        out.segments.push_back(segment);
    }
    return out;
}

// Receives all that is wanted at once; their names.
std::string receive(HlsTimeline& timeline, int64_t now_us) {
    std::string out;
    while (timeline.next()) {
        out += timeline.next()->uri + " ";
        EXPECT_EQ(timeline.on_segment(now_us), 0) << "playing stopped before " << out;
    }
    return out;
}

TEST(HlsTimeline, BeginsWithTheThirdLastSegment) {
    HlsTimeline timeline;
    EXPECT_EQ(timeline.next(), nullptr);
    timeline.on_playlist(playlist(10, 6), 0);
    EXPECT_EQ(receive(timeline, 0), "13.ts 14.ts 15.ts ");
    HlsTimeline early;
    early.on_playlist(playlist(0, 2), 0);
    EXPECT_EQ(receive(early, 0), "0.ts 1.ts ");
}

TEST(HlsTimeline, FetchesWhatIsNew) {
    HlsTimeline timeline;
    timeline.on_playlist(playlist(10, 6), 0);
    receive(timeline, 0);
    timeline.on_playlist(playlist(11, 6), kSecond);
    EXPECT_EQ(receive(timeline, kSecond), "16.ts ");
    timeline.on_playlist(playlist(13, 6), 2 * kSecond);
    EXPECT_EQ(receive(timeline, 2 * kSecond), "17.ts 18.ts ");
    EXPECT_EQ(timeline.missed(), 0u);
    EXPECT_EQ(timeline.went_back(), 0u);
}

TEST(HlsTimeline, AsksAgainAfterTheTargetDurationOrHalfOfIt) {
    HlsTimeline timeline;
    timeline.on_playlist(playlist(10, 6), 5 * kSecond);
    EXPECT_EQ(timeline.reload_us(), 7 * kSecond);
    timeline.on_playlist(playlist(10, 6), 7 * kSecond);
    EXPECT_EQ(timeline.reload_us(), 8 * kSecond);
    timeline.on_playlist(playlist(11, 6), 8 * kSecond);
    EXPECT_EQ(timeline.reload_us(), 10 * kSecond);
}

TEST(HlsTimeline, CountsWhatItCouldNotFetch) {
    HlsTimeline timeline;
    timeline.on_playlist(playlist(10, 6), 0);
    receive(timeline, 0);
    timeline.on_playlist(playlist(18, 6), 0);
    EXPECT_EQ(timeline.missed(), 2u);
    EXPECT_EQ(receive(timeline, 0), "18.ts 19.ts 20.ts 21.ts 22.ts 23.ts ");
    timeline.on_playlist(playlist(12, 6), 0);
    EXPECT_EQ(timeline.went_back(), 1u);
    EXPECT_EQ(timeline.next(), nullptr);
    auto other = playlist(19, 6);
    other.segments.back().discontinuity = true;
    timeline.on_playlist(other, 0);
    EXPECT_EQ(timeline.discontinuities(), 1u);
}

TEST(HlsTimeline, StopsPlayingWhenTheBufferIsEmpty) {
    HlsTimeline timeline;
    timeline.on_playlist(playlist(10, 3), 0);
    receive(timeline, kSecond);  // 6 s: until 7 s
    timeline.on_playlist(playlist(11, 3), 2 * kSecond);
    EXPECT_EQ(timeline.on_segment(7 * kSecond), 0) << "in the last moment";
    timeline.on_playlist(playlist(12, 3), 2 * kSecond);
    EXPECT_EQ(timeline.on_segment(10 * kSecond), kSecond) << "the buffer lasted until 9 s";
    timeline.on_playlist(playlist(13, 3), 2 * kSecond);
    EXPECT_EQ(timeline.on_segment(12 * kSecond), 0) << "what was received at 10 s lasts until then";
}

}  // namespace
}  // namespace load

#include "load/low_latency_playlist.h"

#include <gtest/gtest.h>

namespace load {
namespace {

constexpr std::string_view kText =
    "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.00000\n"
    "#EXT-X-PART-INF:PART-TARGET=0.33334\n#EXT-X-MEDIA-SEQUENCE:7\n"
    "#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00.000Z\n#EXTINF:2.00000,\na-7.m4s\n"
    "#EXT-X-PART:DURATION=0.33333,URI=\"a~p1.m4s\",INDEPENDENT=YES\n"
    "#EXT-X-PART:DURATION=0.25,URI=\"a~p2.m4s\",GAP=YES\n"
    "#EXTINF:0.58333,\r\na-8.m4s\n"
    "#EXT-X-PROGRAM-DATE-TIME:2026-01-01T01:00:03.000+01:00\n"
    "#EXT-X-PART:DURATION=0.5,URI=\"a~p3.m4s\"\n"
    "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a~p4.m4s\"\n";
constexpr int64_t kDate = 1'767'225'600'000'000;

TEST(LowLatencyPlaylist, PartsHaveTheirPositionsAndDueTimes) {
    const auto list = read_low_latency_playlist(kText);
    ASSERT_TRUE(list) << list.error().text();
    ASSERT_EQ(list->parts.size(), 3u);
    EXPECT_EQ(list->parts[0].msn, 8u);
    EXPECT_EQ(list->parts[0].index, 0u);
    EXPECT_EQ(list->parts[0].uri, "a~p1.m4s");
    EXPECT_EQ(list->parts[0].due_us, kDate + 2'333'330);
    EXPECT_EQ(list->parts[1].index, 1u);
    EXPECT_TRUE(list->parts[1].gap);
    EXPECT_EQ(list->parts[1].due_us, kDate + 2'583'330);
    EXPECT_EQ(list->parts[2].msn, 9u);
    EXPECT_EQ(list->parts[2].index, 0u);
    EXPECT_EQ(list->parts[2].due_us, kDate + 3'500'000);
    EXPECT_EQ(list->directives, "_HLS_msn=9&_HLS_part=1");
    EXPECT_FALSE(list->ended);
}

TEST(LowLatencyPlaylist, SkippedSegmentsCountAndAnEndIsSeen) {
    const auto list = read_low_latency_playlist(
        "#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-SKIP:SKIPPED-SEGMENTS=5\n#EXTINF:1,\nx\n"
        "#EXT-X-ENDLIST\n");
    ASSERT_TRUE(list);
    EXPECT_EQ(list->directives, "_HLS_msn=13&_HLS_part=0");
    EXPECT_TRUE(list->ended);
}

TEST(LowLatencyPlaylist, WhatIsNoPlaylistIsAnError) {
    EXPECT_FALSE(read_low_latency_playlist("<html>"));
    EXPECT_FALSE(read_low_latency_playlist("#EXTM3U\n#EXT-X-PART:URI=\"x\"\n"));
    EXPECT_FALSE(read_low_latency_playlist("#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:x\n"));
    EXPECT_FALSE(gunzip("no gzip"));
}

TEST(LowLatencyPlaylist, TheFirstVariant) {
    EXPECT_EQ(first_variant("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8?x\n#EXT-X-STREAM-INF:BANDWIDTH=2\nb\n"),
              "a.m3u8?x");
    EXPECT_EQ(first_variant(kText), "");
}

TEST(LowLatencyPlaylists, TheSameBodyIsReadOnce) {
    LowLatencyPlaylists playlists;
    const auto first = playlists.read(kText);
    ASSERT_TRUE(first);
    EXPECT_EQ(playlists.read(kText)->get(), first->get());
    EXPECT_NE(playlists.read("#EXTM3U\n")->get(), first->get());
    EXPECT_EQ(playlists.read(kText)->get(), first->get());
}

}  // namespace
}  // namespace load

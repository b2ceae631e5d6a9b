#include <gtest/gtest.h>

#include "protocol/m3u8/playlist.h"

namespace m3u8 {
namespace {

// Segments of 4 s in parts of 1 s: "7.m4s" has "7.0.m4s" to "7.3.m4s".
MediaPlaylist of_segments(int count) {
    MediaPlaylist playlist{.target_duration_s = 4, .media_sequence = 7};
    playlist.can_block = playlist.can_skip = true;
    playlist.part_target_us = 1'000'000;
    for (int i = 0; i < count; ++i) {
        Segment segment{.uri = std::to_string(7 + i) + ".m4s", .duration_us = 4'000'000, .map_uri = "init.mp4"};
        for (int part = 0; part < 4; ++part)
            segment.parts.push_back(
                {std::to_string(7 + i) + "." + std::to_string(part) + ".m4s", 1'000'000, part == 0});
        playlist.segments.push_back(std::move(segment));
    }
    return playlist;
}

bool has(const std::string& text, std::string_view line) {
    return text.find("\n" + std::string(line) + "\n") != std::string::npos;
}

TEST(LowLatencyPlaylist, IsWrittenAsTheDraftHasIt) {
    MediaPlaylist playlist{.target_duration_s = 2, .media_sequence = 3, .can_block = true, .part_target_us = 361'000};
    playlist.independent_segments = true;
    playlist.segments.push_back({.uri = "3.m4s", .duration_us = 666'667, .map_uri = "init.mp4"});
    playlist.segments[0].parts = {{"3~p1.m4s", 333'333, true}, {"3~p2.m4s", 333'334, false, true}};
    PlaylistTail tail{.open = {.map_uri = "init.mp4"}, .hint_uri = "3~p4.m4s"};
    tail.open.parts = {{"3~p3.m4s", 333'336, true}};
    tail.reports = {{"audio.m3u8", 4, 0}, {"video.m3u8", 3, {}}};
    const WrittenPlaylist written = write(playlist);
    EXPECT_EQ(written.text + write_tail(written, tail).text,
              "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n"
              "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.08300\n#EXT-X-PART-INF:PART-TARGET=0.36100\n"
              "#EXT-X-MEDIA-SEQUENCE:3\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n#EXT-X-INDEPENDENT-SEGMENTS\n"
              "#EXT-X-MAP:URI=\"init.mp4\"\n"
              "#EXT-X-PART:DURATION=0.33333,URI=\"3~p1.m4s\",INDEPENDENT=YES\n"
              "#EXT-X-PART:DURATION=0.33333,URI=\"3~p2.m4s\",GAP=YES\n"
              "#EXTINF:0.66667,\n3.m4s\n"
              "#EXT-X-PART:DURATION=0.33334,URI=\"3~p3.m4s\",INDEPENDENT=YES\n"
              "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"3~p4.m4s\"\n"
              "#EXT-X-RENDITION-REPORT:URI=\"audio.m3u8\",LAST-MSN=4,LAST-PART=0\n"
              "#EXT-X-RENDITION-REPORT:URI=\"video.m3u8\",LAST-MSN=3\n");
}

// 6.2.1 of the draft: nothing may be put before parts that are listed.
TEST(LowLatencyPlaylist, TagsOfTheOpenSegmentStandBeforeItsFirstPart) {
    MediaPlaylist playlist = of_segments(1);
    PlaylistTail tail{.open = {.discontinuity = true, .key = {"a.key", ""}, .map_uri = "init-8.mp4", .date_ms = 1'500}};
    tail.open.parts = {{"8.0.m4s", 1'000'000, true}};
    const WrittenPlaylist written = write(playlist);
    const std::string open =
        "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"init-8.mp4\"\n#EXT-X-KEY:METHOD=AES-128,URI=\"a.key\"\n"
        "#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:01.500Z\n"
        "#EXT-X-PART:DURATION=1.00000,URI=\"8.0.m4s\",INDEPENDENT=YES\n";
    EXPECT_EQ(write_tail(written, tail).text, open);
    // Complete, it only gets its EXTINF and its URI behind the parts.
    Segment complete = tail.open;
    complete.uri = "8.m4s";
    complete.duration_us = 1'000'000;
    playlist.segments.push_back(complete);
    EXPECT_EQ(write(playlist).text, written.text + open + "#EXTINF:1.00000,\n8.m4s\n");
    // Also if its file is lost.
    playlist.segments.back().gap = true;
    EXPECT_EQ(write(playlist).text, written.text + open + "#EXT-X-GAP\n#EXTINF:1.00000,\n8.m4s\n");
}

TEST(LowLatencyPlaylist, NothingIsWrittenOfASegmentThatHasNoPartYet) {
    const WrittenPlaylist written = write(of_segments(1));
    EXPECT_EQ(write_tail(written, {.open = {.discontinuity = true}, .hint_uri = "8.0.m4s"}).text,
              "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"8.0.m4s\"\n");
    EXPECT_EQ(write_tail(written, {}).text, "");
}

// 6.2.2 of the draft: parts that end further than three target durations from the end are not listed.
TEST(LowLatencyPlaylist, PartsAreListedForThreeTargetDurations) {
    const MediaPlaylist playlist = of_segments(6);
    EXPECT_EQ(without_parts(playlist, 0), 2u) << "the third one ends 12 s from the end";
    EXPECT_EQ(without_parts(playlist, 1'000'000), 3u);
    EXPECT_EQ(without_parts(of_segments(2), 1'000'000), 0u);
    const std::string text = write(playlist, {.without_parts = 3}).text;
    EXPECT_EQ(text.find("9.3.m4s"), std::string::npos) << text;
    EXPECT_TRUE(has(text, "9.m4s")) << text;
    EXPECT_TRUE(has(text, "#EXT-X-PART:DURATION=1.00000,URI=\"10.0.m4s\",INDEPENDENT=YES")) << text;
}

TEST(LowLatencyPlaylist, ReloadsMayWaitForSegmentsOnly) {
    MediaPlaylist playlist = of_segments(1);
    playlist.part_target_us = 0;
    EXPECT_EQ(write(playlist).text.find("#EXT-X-PART"), std::string::npos);
    EXPECT_TRUE(has(write(playlist).text, "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=24"));
    playlist.can_block = playlist.can_skip = false;
    EXPECT_EQ(write(playlist).text.find("#EXT-X-SERVER-CONTROL"), std::string::npos);
}

// 6.2.5.1 of the draft.
TEST(LowLatencyPlaylist, ADeltaUpdateSkipsWhatEndsSixTargetDurationsBeforeTheEnd) {
    MediaPlaylist playlist = of_segments(10);
    playlist.discontinuity_sequence = 5;
    EXPECT_EQ(skippable(playlist), 3u) << "the fourth one ends 24 s before the end";
    const std::string whole = write(playlist, {.without_parts = 7}).text;
    const std::string delta = write(playlist, {.segments = 3, .without_parts = 7}).text;
    EXPECT_TRUE(has(delta, "#EXT-X-VERSION:9")) << delta;
    EXPECT_TRUE(has(whole, "#EXT-X-VERSION:6")) << whole;
    for (const std::string_view same :
         {"#EXT-X-MEDIA-SEQUENCE:7", "#EXT-X-DISCONTINUITY-SEQUENCE:5", "#EXT-X-PART-INF:PART-TARGET=1.00000"})
        EXPECT_TRUE(has(delta, same)) << delta;
    EXPECT_TRUE(has(whole, "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=24,PART-HOLD-BACK=3.00000"));
    const size_t skip =
        delta.find("#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n#EXT-X-MAP:URI=\"init.mp4\"\n#EXTINF:4.00000,\n10.m4s\n");
    EXPECT_NE(skip, std::string::npos) << "the map applies to what is kept: " << delta;
    EXPECT_TRUE(whole.ends_with(delta.substr(delta.find("10.m4s")))) << "all else is the same";
}

TEST(LowLatencyPlaylist, DeltaUpdatesNeedNeitherPartsNorReloadsThatWait) {
    MediaPlaylist playlist{.target_duration_s = 4, .media_sequence = 7, .can_skip = true};
    for (int i = 0; i < 10; ++i)
        playlist.segments.push_back({.uri = std::to_string(7 + i) + ".ts", .duration_us = 4'000'000});
    EXPECT_TRUE(has(write(playlist).text, "#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=24"));
    ASSERT_EQ(skippable(playlist), 3u);
    const std::string delta = write(playlist, {.segments = 3}).text;
    EXPECT_TRUE(has(delta, "#EXT-X-SKIP:SKIPPED-SEGMENTS=3")) << delta;
    EXPECT_FALSE(has(delta, "9.ts")) << delta;
    EXPECT_TRUE(has(delta, "10.ts")) << delta;
}

TEST(LowLatencyPlaylist, ADeltaUpdateHasTheKeyOfWhatItKeeps) {
    MediaPlaylist playlist = of_segments(10);
    for (Segment& segment : playlist.segments) segment.key = {"a.key", "000102030405060708090A0B0C0D0E0F"};
    playlist.segments[3].discontinuity = true;
    EXPECT_NE(write(playlist, {.segments = 3})
                  .text.find("#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"init.mp4\"\n"
                             "#EXT-X-KEY:METHOD=AES-128,URI=\"a.key\",IV=0x000102030405060708090A0B0C0D0E0F\n"),
              std::string::npos);
}

TEST(LowLatencyPlaylist, NothingIsSkippedOfAPlaylistThatIsShortOrHasEnded) {
    EXPECT_EQ(skippable(of_segments(7)), 0u);
    MediaPlaylist playlist = of_segments(10);
    playlist.ended = true;
    EXPECT_EQ(skippable(playlist), 0u);
    playlist = of_segments(10);
    playlist.can_skip = false;
    EXPECT_EQ(skippable(playlist), 0u);
    EXPECT_EQ(write(playlist).text.find("CAN-SKIP-UNTIL"), std::string::npos);
}

TEST(LowLatencyPlaylist, AViewersQueryStandsBehindEveryUriOrOnlyThoseOfReports) {
    const WrittenPlaylist written = write(of_segments(1));
    PlaylistTail tail{.hint_uri = "8.0.m4s", .reports = {{"a.m3u8?t=1", 7, {}}}};
    tail.open.map_uri = "init.mp4";
    tail.open.parts = {{"8.1.m4s", 1'000'000}};
    const WrittenPlaylist end = write_tail(written, tail);
    EXPECT_EQ(with_query(end, "?c=1"),
              "#EXT-X-PART:DURATION=1.00000,URI=\"8.1.m4s?c=1\"\n"
              "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"8.0.m4s?c=1\"\n"
              "#EXT-X-RENDITION-REPORT:URI=\"a.m3u8?t=1&c=1\",LAST-MSN=7\n");
    EXPECT_EQ(with_query(end, "?c=1", end.uri_ends.size() - tail.reports.size()),
              "#EXT-X-PART:DURATION=1.00000,URI=\"8.1.m4s\"\n"
              "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"8.0.m4s\"\n"
              "#EXT-X-RENDITION-REPORT:URI=\"a.m3u8?t=1&c=1\",LAST-MSN=7\n");
}

TEST(LowLatencyPlaylist, WithoutPartsItKeepsThePartTargetInAComment) {
    const MediaPlaylist list{.target_duration_s = 2, .part_target_us = 346'000};
    const std::string text = write(list).text;
    EXPECT_NE(text.find("\n#part-target:0.34600\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("SERVER-CONTROL"), std::string::npos) << text;
    const auto again = read(text);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, list);
    EXPECT_EQ(read("#EXTM3U\n#part-target:of others\n")->part_target_us, 0) << "a comment may be any";
}

TEST(LowLatencyPlaylist, ItsWholeSegmentsAreRead) {
    const MediaPlaylist playlist = of_segments(2);
    const WrittenPlaylist written = write(playlist);
    PlaylistTail tail{.open = {.discontinuity = true, .map_uri = "init-9.mp4"}, .hint_uri = "9.1.m4s"};
    tail.open.parts = {{"9.0.m4s", 1'000'000}};
    tail.reports = {{"audio.m3u8", 9, 0}};
    const auto read_text = read(written.text + write_tail(written, tail).text);
    ASSERT_TRUE(read_text) << read_text.error().text();
    ASSERT_EQ(read_text->segments.size(), 2u);
    EXPECT_EQ(read_text->segments[1].uri, "8.m4s");
    EXPECT_EQ(read_text->segments[1].map_uri, "init.mp4");
}

}  // namespace
}  // namespace m3u8

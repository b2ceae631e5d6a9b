#include "protocol/m3u8/playlist.h"

#include <gtest/gtest.h>

namespace m3u8 {
namespace {

Segment plain(std::string uri, int64_t ms) { return {std::move(uri), ms * 1'000, false, {}, {}}; }

TEST(Playlist, AMediaPlaylistIsWrittenAsTheSpecificationHasIt) {
    MediaPlaylist playlist{10, 7, 0, false, false, {plain("live-7.ts", 10'000), plain("live-8.ts", 9'041)}};
    EXPECT_EQ(write(playlist).text,
              "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n#EXT-X-MEDIA-SEQUENCE:7\n"
              "#EXT-X-DISCONTINUITY-SEQUENCE:0\n#EXTINF:10.00000,\nlive-7.ts\n#EXTINF:9.04100,\nlive-8.ts\n");
}

TEST(Playlist, TagsStandWhereSomethingChanges) {
    MediaPlaylist playlist{2, 3, 1, true, true, {}};
    Key a{"a.key", "000102030405060708090a0b0c0d0e0f"}, b{"b.key", ""};
    playlist.segments = {{"3.m4s", 2'000'000, false, a, "init.mp4"},
                         {"4.m4s", 2'000'000, false, a, "init.mp4"},
                         {"5.m4s", 1'000'000, true, b, "init-5.mp4"},
                         {"6.m4s", 1'000'000, false, {}, "init-5.mp4"}};
    EXPECT_EQ(write(playlist).text,
              "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:3\n"
              "#EXT-X-DISCONTINUITY-SEQUENCE:1\n#EXT-X-INDEPENDENT-SEGMENTS\n"
              "#EXT-X-MAP:URI=\"init.mp4\"\n"
              "#EXT-X-KEY:METHOD=AES-128,URI=\"a.key\",IV=0x000102030405060708090a0b0c0d0e0f\n"
              "#EXTINF:2.00000,\n3.m4s\n#EXTINF:2.00000,\n4.m4s\n"
              "#EXT-X-DISCONTINUITY\n#EXT-X-KEY:METHOD=NONE\n#EXT-X-MAP:URI=\"init-5.mp4\"\n"
              "#EXT-X-KEY:METHOD=AES-128,URI=\"b.key\"\n#EXTINF:1.00000,\n5.m4s\n"
              "#EXT-X-KEY:METHOD=NONE\n#EXTINF:1.00000,\n6.m4s\n#EXT-X-ENDLIST\n");
    auto again = read(write(playlist).text);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(*again, playlist);
}

TEST(Playlist, AGapHasNeitherKeyNorMap) {
    MediaPlaylist playlist{2,     7,     0,
                           false, false, {plain("a.m4s", 2'000), plain("b.m4s", 2'000), plain("c.m4s", 2'000)}};
    for (const size_t i : {0, 2}) playlist.segments[i].map_uri = "init.mp4";
    playlist.segments[1].gap = true;
    const std::string text = write(playlist).text;
    EXPECT_TRUE(
        text.ends_with("#EXT-X-MAP:URI=\"init.mp4\"\n#EXTINF:2.00000,\na.m4s\n#EXT-X-GAP\n#EXTINF:2.00000,\nb.m4s\n"
                       "#EXTINF:2.00000,\nc.m4s\n"))
        << text;
    const auto again = read(text);
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->segments[1].gap);
    EXPECT_FALSE(again->segments[2].gap);
}

TEST(Playlist, ADurationIsKeptToTenMicroseconds) {
    MediaPlaylist playlist{4, 0, 0, false, false, {}};
    // An hour of segments of 60 frames of 30000/1001 a second.
    for (int i = 0; i < 1'798; ++i) playlist.segments.push_back({"a.ts", 2'002'000});
    playlist.segments.push_back({"b.ts", 1'066'667});
    const std::string text = write(playlist).text;
    EXPECT_TRUE(text.ends_with("#EXTINF:2.00200,\na.ts\n#EXTINF:1.06667,\nb.ts\n"));
    const auto again = read(text);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->segments[0].duration_us, 2'002'000);
    EXPECT_EQ(again->segments.back().duration_us, 1'066'670);
}

TEST(Playlist, ASegmentMayHaveADate) {
    MediaPlaylist playlist{2, 7, 0, false, false, {plain("a.m4s", 2'000), plain("b.m4s", 2'000)}};
    playlist.segments[0].map_uri = "init.mp4";
    playlist.segments[1].map_uri = "init.mp4";
    playlist.segments[0].date_ms = 1'772'323'199'007;
    const std::string text = write(playlist).text;
    EXPECT_TRUE(
        text.ends_with("#EXT-X-MAP:URI=\"init.mp4\"\n#EXT-X-PROGRAM-DATE-TIME:2026-02-28T23:59:59.007Z\n"
                       "#EXTINF:2.00000,\na.m4s\n#EXTINF:2.00000,\nb.m4s\n"))
        << text;
    const auto again = read(text);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, playlist);
    for (const char* other :
         {"2026-02-29T00:00:00.000Z", "2026-02-28T24:00:00.000Z", "2026-02-28T23:59Z", "2026-02-28T23:59:59.007+",
          "1969-12-31T23:59:59.999Z", "2026-13-01T00:00:00.000Z", "x"}) {
        const auto none = read(std::string("#EXTM3U\n#EXT-X-PROGRAM-DATE-TIME:") + other + "\n#EXTINF:1,\na\n");
        ASSERT_TRUE(none);
        EXPECT_EQ(none->segments[0].date_ms, 0) << other;
    }
}

TEST(Playlist, AViewersQueryStandsBehindEveryUri) {
    MediaPlaylist playlist{2, 0, 0, false, false, {{"0.ts?x=1", 2'000'000, false, {"k.key", ""}, ""}}};
    EXPECT_EQ(with_query(write(playlist), "?hls_ctx=abc"),
              "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:0\n"
              "#EXT-X-DISCONTINUITY-SEQUENCE:0\n#EXT-X-KEY:METHOD=AES-128,URI=\"k.key?hls_ctx=abc\"\n"
              "#EXTINF:2.00000,\n0.ts?x=1&hls_ctx=abc\n");
}

TEST(Playlist, AMultivariantPlaylistNamesVariants) {
    EXPECT_EQ(write({false, {{"/live/a.m3u8?hls_ctx=1", 800'000, 500'000, 640, 360}}}),
              "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=800000,AVERAGE-BANDWIDTH=500000,RESOLUTION=640x360\n"
              "/live/a.m3u8?hls_ctx=1\n");
    EXPECT_EQ(
        write({true, {{"a.m3u8", 9, 5, 640, 360, "avc1.64001f,mp4a.40.2", 30'000.0 / 1001}, {"b.m3u8", 1, 0, 0, 0}}}),
        "#EXTM3U\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-STREAM-INF:BANDWIDTH=9,AVERAGE-BANDWIDTH=5,CODECS=\"avc1.64001f,"
        "mp4a.40.2\","
        "RESOLUTION=640x360,FRAME-RATE=29.970\na.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1\nb.m3u8\n");
    EXPECT_EQ(write(MultivariantPlaylist()), "#EXTM3U\n");
}

TEST(Playlist, AllVariantsSayThatThereAreNoCaptions) {
    using enum Variant::Captions;
    const auto says_none = [](Variant::Captions one, Variant::Captions other) {
        Variant first{"a.m3u8", 9, 0, 0, 0}, second{"b.m3u8", 8, 0, 0, 0};
        first.captions = one;
        second.captions = other;
        const std::string text = write({false, {first, second}});
        const bool is_first = text.contains("BANDWIDTH=9,CLOSED-CAPTIONS=NONE\n");
        EXPECT_EQ(is_first, text.contains("BANDWIDTH=8,CLOSED-CAPTIONS=NONE\n")) << text;
        return is_first;
    };
    EXPECT_TRUE(says_none(kNone, kNone));
    EXPECT_TRUE(says_none(kNone, kUnknown));
    EXPECT_FALSE(says_none(kSeen, kNone));
    EXPECT_FALSE(says_none(kUnknown, kUnknown));
}

TEST(Playlist, AVariantNamesTheGroupOfItsAudio) {
    const std::vector<AudioRendition> audio = {
        {.uri = "", .name = "English", .language = "en", .channels = 2, .is_default = true},
        {.uri = "a~audio2.m3u8?t=\"x\"", .name = "a \"b\"\r\nc", .language = "de", .autoselect = true},
        {.uri = "a~audio3.m3u8", .name = "Audio 3"},
    };
    EXPECT_EQ(write({false, {{"a.m3u8", 9, 5, 0, 0, "", 0, audio}}}),
              "#EXTM3U\n"
              "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"English\",LANGUAGE=\"en\",DEFAULT=YES,"
              "AUTOSELECT=YES,CHANNELS=\"2\"\n"
              "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"a 'b'  c\",LANGUAGE=\"de\",AUTOSELECT=YES,"
              "URI=\"a~audio2.m3u8?t=%22x%22\"\n"
              "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"Audio 3\",URI=\"a~audio3.m3u8\"\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=9,AVERAGE-BANDWIDTH=5,AUDIO=\"audio\"\na.m3u8\n");
    const Variant first{"a.m3u8", 9, 0, 0, 0, "", 0, {audio[2]}}, second{"b.m3u8", 8, 0, 0, 0},
        third{"c.m3u8", 7, 0, 0, 0, "", 0, {audio[2]}};
    EXPECT_EQ(write({false, {first, second, third}}),
              "#EXTM3U\n"
              "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio1\",NAME=\"Audio 3\",URI=\"a~audio3.m3u8\"\n"
              "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio3\",NAME=\"Audio 3\",URI=\"a~audio3.m3u8\"\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=9,AUDIO=\"audio1\"\na.m3u8\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=8\nb.m3u8\n"
              "#EXT-X-STREAM-INF:BANDWIDTH=7,AUDIO=\"audio3\"\nc.m3u8\n");
}

TEST(Playlist, OthersPlaylistsAreReadToo) {
    auto read_text = read(
        "#EXTM3U\r\n#EXT-X-VERSION:3\r\n#EXT-X-ALLOW-CACHE:YES\r\n#EXT-X-MEDIA-SEQUENCE:12\r\n"
        "#EXT-X-TARGETDURATION:5\r\n\r\n#EXTINF:4.5, no desc\r\na-12.ts\r\n#EXTINF:5\r\na-13.ts");
    ASSERT_TRUE(read_text) << read_text.error().text();
    EXPECT_EQ(*read_text, (MediaPlaylist{5, 12, 0, false, false, {plain("a-12.ts", 4'500), plain("a-13.ts", 5'000)}}));
}

TEST(Playlist, WhatIsNoMediaPlaylistIsAnError) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "an empty playlist"},
        {"#EXTINF:2\n", "it does not begin with #EXTM3U"},
        {"#EXTM3U\na.ts\n", "a segment without EXTINF"},
        {"#EXTM3U\n#EXTINF:x,\na.ts\n", "EXTINF: 'x' is no duration"},
        {"#EXTM3U\n#EXTINF:-1,\na.ts\n", "EXTINF: '-1' is no duration"},
        {"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:1a\n", "EXT-X-MEDIA-SEQUENCE: '1a' is no number"},
        {"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n", "a master playlist"},
    };
    for (auto& [text, error] : cases) {
        auto result = read(text);
        ASSERT_FALSE(result) << text;
        EXPECT_EQ(result.error().text(), error);
    }
}

}  // namespace
}  // namespace m3u8

#include "service/hls/playlists/segment_paths.h"

#include <gtest/gtest.h>

#include "service/hls/config.h"

namespace service::hls {
namespace {

VhostConfig defaults() { return {}; }

SegmentPaths names_of(const VhostConfig& hls, std::string app = "live", std::string stream = "livestream") {
    auto names = SegmentPaths::make(hls, {"v", std::move(app), std::move(stream)}, true);
    EXPECT_TRUE(names) << names.error().text();
    return *names;
}

TEST(SegmentPaths, OfTheDefaults) {
    SegmentPaths names = names_of(defaults());
    EXPECT_EQ(names.playlist(), "live/livestream.m3u8");
    EXPECT_EQ(names.segment({7, 0, 0}), "live/livestream-7.ts");
    EXPECT_EQ(names.key({7, 0, 0}), "live/livestream-7.key");
    EXPECT_EQ(names.init({7, 0, 0}, false), "live/livestream/init.mp4");
    EXPECT_EQ(names.init({7, 0, 0}, true), "live/livestream/init-7.mp4");
    EXPECT_EQ(names.segment_uri("live/livestream-7.ts"), "livestream-7.ts");
    EXPECT_EQ(names.segment_uri("live/livestream/init.mp4"), "livestream/init.mp4");
    EXPECT_EQ(names.growing(3), "live/livestream.m3u8.3.tmp");
    EXPECT_TRUE(names.is_growing("livestream.m3u8.3.tmp"));
    EXPECT_TRUE(names.is_growing("livestream.m3u8.tmp"));
    for (const char* other : {"livestream.m3u8.tmp2", "livestream.m3u8.x.tmp", "livestream.m3u8..tmp",
                              "livestream2.m3u8.3.tmp", "livestream.m3u8", "livestream.m3u8.3.tmp.tmp"})
        EXPECT_FALSE(names.is_growing(other)) << other;
}

TEST(SegmentPaths, OfAPlaylistTellTheStream) {
    VhostConfig hls = defaults();
    auto text = [&](std::string_view path) {
        auto key = stream_of_playlist(hls, "v", path);
        return key ? key->text() : "";
    };
    EXPECT_EQ(text("live/cam-2.m3u8"), "v/live/cam-2");
    EXPECT_EQ(text("a/b/cam.m3u8"), "v/a/b/cam");
    for (const char* path : {"", ".m3u8", "cam.m3u8", "live/.m3u8", "/cam.m3u8", "live/cam.ts", "live/../cam.m3u8"})
        EXPECT_EQ(text(path), "") << path;
    hls.m3u8_file = "./m/[vhost]/[app]-[stream]/index.m3u8";
    EXPECT_EQ(text("m/v/live-cam/index.m3u8"), "v/live/cam");
    EXPECT_EQ(text("m/w/live-cam/index.m3u8"), "");
    EXPECT_EQ(text("m/v/live-cam-2/index.m3u8"), "") << "live-cam/2, or live/cam-2";
    EXPECT_EQ(text("M/v/live-cam/index.m3u8"), "") << "another path, though some file systems ignore case";
    hls.m3u8_file = "[app]/[stream]-x.m3u8";
    EXPECT_EQ(text("live/cam-x-2.m3u8"), "") << "the number is no part of the pattern";
    hls.m3u8_file = "[stream].m3u8";
    EXPECT_EQ(text("cam.m3u8"), "") << "of which app?";
}

TEST(SegmentPaths, WithTimeAndPrefix) {
    VhostConfig hls = defaults();
    hls.m3u8_file = "./m/[vhost]/[app]/[stream].m3u8";
    hls.ts_file = "s/[app]/[2006]/[01]/[02]/[15].[04].[05].[999]-[timestamp]-[duration]-[seq].ts";
    hls.entry_prefix = "http://cdn";
    hls.key_url = "http://keys/x/";
    SegmentPaths names = names_of(hls, "a/b", "ü 1");
    EXPECT_EQ(names.playlist(), "m/v/a/b/ü 1.m3u8");
    std::string segment = names.segment({1, 1'700'000'000'123, 2'000});
    EXPECT_EQ(segment, "s/a/b/2023/11/14/22.13.20.123-1700000000123-2000-1.ts");
    EXPECT_EQ(names.segment_uri(segment), "http://cdn/" + segment);
    EXPECT_EQ(names.segment_path("http://cdn/" + segment), segment);
    EXPECT_EQ(names.segment_path("http://other/" + segment), std::nullopt);
    EXPECT_EQ(names.key_uri("a/b/%1.key"), "http://keys/x/a/b/%251.key");
    EXPECT_EQ(names.key_path("http://keys/x/a/b/%251.key"), "a/b/%1.key");
    hls.ts_floor = true;
    hls.fragment = 10;
    EXPECT_EQ(names_of(hls).segment({1, 1'700'000'000'123, 2'000}),
              "s/live/2023/11/14/22.13.20.123-170000000-2000-1.ts");
}

TEST(SegmentPaths, UrisAreRelativeToThePlaylist) {
    VhostConfig hls = defaults();
    hls.m3u8_file = "a/b/[stream].m3u8";
    SegmentPaths names = names_of(hls);
    EXPECT_EQ(names.segment_path("../d/c%20-1.ts"), "a/d/c -1.ts");
    EXPECT_EQ(names.segment_path("c-1.ts"), "a/b/c-1.ts");
    for (const char* bad : {"../../../etc/passwd", "x/../../../../y", "..%2f..%2f..%2fetc", "/etc/passwd", "", "%zz"})
        EXPECT_EQ(names.segment_path(bad), std::nullopt) << bad;
}

TEST(SegmentPaths, OfAFurtherAudioTrack) {
    VhostConfig hls = defaults();
    const SegmentPaths main = names_of(hls), audio = main.of_rendition(audio_rendition(1));
    EXPECT_EQ(main.master(), "live/livestream~master.m3u8");
    EXPECT_EQ(audio.playlist(), "live/livestream~audio2.m3u8");
    EXPECT_EQ(audio.segment({7, 0, 0}), "live/livestream-7~audio2.ts");
    EXPECT_EQ(audio.segment({7, 0, 0}, true), "live/livestream-7-7~audio2.ts");
    EXPECT_EQ(main.segment({7, 0, 0}, true), "live/livestream-7-7.ts");
    EXPECT_EQ(main.of_rendition(kVideoRendition).playlist(), "live/livestream~video.m3u8");
    EXPECT_EQ(audio.key({7, 0, 0}), "live/livestream-7~audio2.key");
    EXPECT_EQ(audio.init({7, 0, 0}, false), "live/livestream/init~audio2.mp4");
    EXPECT_EQ(audio.init({7, 0, 0}, true), "live/livestream/init-7~audio2.mp4");
    EXPECT_EQ(audio.segment_uri(audio.segment({7, 0, 0})), "livestream-7~audio2.ts");
    EXPECT_EQ(audio.growing(3), "live/livestream~audio2.m3u8.3.tmp");
    EXPECT_FALSE(main.is_growing("livestream~audio2.m3u8.3.tmp"));
    hls.m3u8_file = "[app]/[stream]";
    EXPECT_EQ(names_of(hls).of_rendition(audio_rendition(7)).playlist(), "live/livestream~audio8");
    EXPECT_EQ(names_of(hls, "live", "a.b").of_rendition(audio_rendition(1)).playlist(), "live/a~audio2.b");
    for (const auto& [path, plain] :
         std::vector<std::pair<std::string, std::string>>{{"live/a~audio2.m3u8", "live/a.m3u8"},
                                                          {"live/a~MASTER.m3u8", "live/a.m3u8"},
                                                          {"a~audio3", "a"},
                                                          {"x~audio2/a.ts", "x~audio2/a.ts"},
                                                          {"a~audio.ts", "a~audio.ts"},
                                                          {"a~audio2x.ts", "a~audio2x.ts"},
                                                          {"a~audio2.b.ts", "a~audio2.b.ts"},
                                                          {"a~b.ts", "a~b.ts"},
                                                          {"a.ts", "a.ts"},
                                                          {"a-1~video.m4s", "a-1.m4s"}})
        EXPECT_EQ(without_suffix(path), plain);
}

TEST(SegmentPaths, PathsArePutBeforeTheQueryOfAPrefix) {
    VhostConfig hls = defaults();
    hls.key_url = "https://keys.example.com/k?token=a/b&x=%2F";
    hls.entry_prefix = "http://cdn/?v=1";
    const SegmentPaths names = names_of(hls);
    const std::string key = "https://keys.example.com/k/live/a%20b-0.key?token=a/b&x=%2F";
    EXPECT_EQ(names.key_uri("live/a b-0.key"), key);
    EXPECT_EQ(names.key_path(key), "live/a b-0.key");
    EXPECT_EQ(names.segment_uri("live/a-0.ts"), "http://cdn/live/a-0.ts?v=1");
    EXPECT_EQ(names.segment_path("http://cdn/live/a-0.ts?v=1"), "live/a-0.ts");
    for (const char* other : {"http://cdn/live/a-0.ts", "http://cdn/live/a-0.ts?v=2", "http://cdn/?v=1", "?v=1"})
        EXPECT_EQ(names.segment_path(other), std::nullopt) << other;
}

TEST(SegmentPaths, PartsHaveNumbers) {
    VhostConfig hls = defaults();
    EXPECT_EQ(names_of(hls).part(12), "live/livestream~p12.ts");
    EXPECT_EQ(names_of(hls).of_rendition(audio_rendition(1)).part(12), "live/livestream~audio2~p12.ts");
    hls.use_fmp4 = true;
    EXPECT_EQ(names_of(hls).part(12), "live/livestream~p12.m4s");
    hls.m3u8_file = "[app]/[stream]";
    EXPECT_EQ(names_of(hls, "a.b").part(1), "a.b/livestream~p1.m4s");
    hls.ts_file = hls.fmp4_file = "[app]/[stream]";
    for (const char* name : {"a~p1", "a~P1", "a~p1.x"})
        EXPECT_FALSE(SegmentPaths::make(hls, {"v", "live", name}, true)) << name;
    for (const char* name : {"a~p", "a~p1x", "p1", "a~p1.x.y"})
        EXPECT_TRUE(SegmentPaths::make(hls, {"v", "live", name}, true)) << name;
}

TEST(SegmentPaths, WhatLooksLikeAnotherStreamsTrackIsRefused) {
    for (const char* name : {"livestream~audio2", "a~Audio", "x~masters", "~video"}) {
        auto names = SegmentPaths::make(defaults(), {"v", "live", name}, true);
        ASSERT_FALSE(names) << name;
        EXPECT_EQ(names.error().code(), base::Code::kRefused);
        EXPECT_TRUE(names.error().text().ends_with("which marks files of other streams' tracks"))
            << names.error().text();
    }
    VhostConfig split = defaults();
    split.m3u8_file = "[app]~[stream].m3u8";
    EXPECT_FALSE(SegmentPaths::make(split, {"v", "live", "audio2"}, true));
    EXPECT_TRUE(SegmentPaths::make(defaults(), {"v", "live", "a~b"}, true));
}

TEST(SegmentPaths, WhatEndsAsAGrowingFileIsRefused) {
    VhostConfig hls = defaults();
    EXPECT_EQ(names_of(hls, "live", "s.tmp").playlist(), "live/s.tmp.m3u8");
    hls.m3u8_file = "[app]/[stream]";
    auto names = SegmentPaths::make(hls, {"v", "live", "s.tmp"}, true);
    ASSERT_FALSE(names);
    EXPECT_EQ(names.error().code(), base::Code::kRefused);
    EXPECT_EQ(names.error().text(), "'live/s.tmp' ends as a growing file");
}

TEST(SegmentPaths, WhatCouldLeadOutOfTheDirectoryIsRefused) {
    const std::pair<std::string, const char*> cases[] = {
        {"../../etc/x", "the stream's name has a '/'"},
        {"a/b", "the stream's name has a '/'"},
        {"a\\b", "the stream's name has a '\\'"},
        {"..", "the stream's name is '..'"},
        {"", "the stream's name is empty"},
        {std::string(300, 'a'), "the stream's name has 300 bytes, more than 160"},
        {"a\nb", "the stream's name has a control character"},
        {std::string("a\0b", 3), "the stream's name has a control character"},
    };
    for (const auto& [name, why] : cases) {
        auto names = SegmentPaths::make(defaults(), {"v", "live", name}, true);
        ASSERT_FALSE(names) << name;
        EXPECT_EQ(names.error().text(), why);
        EXPECT_EQ(names.error().code(), base::Code::kRefused);
    }
    for (const char* app : {"..", "a/../b", "a//b", "/a", "a/", "\x01"})
        EXPECT_FALSE(SegmentPaths::make(defaults(), {"v", app, "x"}, true)) << app;
    // A variable in a name is not expanded again.
    EXPECT_EQ(names_of(defaults(), "live", "[seq]").segment({7, 0, 0}), "live/[seq]-7.ts");
}

}  // namespace
}  // namespace service::hls

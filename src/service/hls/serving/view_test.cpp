#include "service/hls/serving/view.h"

#include <gtest/gtest.h>

#include "protocol/http/gzip_testing.h"

namespace service::hls {
namespace {

using http::unzip;

// Segments of 2 s in parts of 500 ms, from number 10 on.
std::shared_ptr<const ListedSegments> segments(int count, bool with_parts = true) {
    m3u8::MediaPlaylist playlist{.target_duration_s = 2, .media_sequence = 10};
    if (with_parts) playlist.part_target_us = 500'000;
    playlist.can_block = playlist.can_skip = with_parts;
    for (int i = 0; i < count; ++i) {
        playlist.segments.push_back({.uri = std::to_string(i) + ".ts", .duration_us = 2'000'000});
        for (int part = 0; with_parts && part < 4; ++part)
            playlist.segments.back().parts.push_back({std::to_string(i) + "." + std::to_string(part), 500'000});
    }
    return std::make_shared<const ListedSegments>(std::move(playlist), ListedSegments::Bandwidth{});
}

m3u8::PlaylistTail tail(int parts) {
    m3u8::PlaylistTail tail{.hint_uri = "hint"};
    for (int i = 0; i < parts; ++i) tail.open.parts.push_back({"o." + std::to_string(i), 500'000});
    return tail;
}

TEST(View, ATextIsMadeOnceAndShared) {
    const View view(segments(3), tail(1));
    const View::Body plain = view.body({}), gzipped = view.body({.gzip = true});
    EXPECT_FALSE(plain.gzipped || plain.personal);
    EXPECT_TRUE(gzipped.gzipped && !gzipped.personal);
    EXPECT_EQ(unzip(*gzipped.text), *plain.text);
    EXPECT_EQ(view.body({}).text, plain.text);
    EXPECT_EQ(view.body({.gzip = true}).text, gzipped.text);
    EXPECT_EQ(view.body({.delta = true}).text, plain.text) << "there is nothing to skip";
    EXPECT_TRUE(
        plain.text->ends_with("#EXT-X-PART:DURATION=0.50000,URI=\"o.0\"\n"
                              "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"hint\"\n"))
        << *plain.text;
}

TEST(View, ADeltaUpdateIsAnotherText) {
    const View view(segments(10), tail(2));
    const std::string& delta = *view.body({.delta = true}).text;
    EXPECT_NE(delta.find("#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n"), std::string::npos) << delta;
    EXPECT_EQ(unzip(*view.body({.delta = true, .gzip = true}).text), delta);
    EXPECT_EQ(view.body({}).text->find("#EXT-X-SKIP"), std::string::npos);
    EXPECT_TRUE(view.body({}).text->ends_with(delta.substr(delta.find("3.ts"))));
}

// The segments are written anew only when one of them no longer lists its parts.
TEST(View, PartsLeaveWhileTheOpenSegmentGrows) {
    const auto listed = segments(6);
    const std::string first = *View(listed, tail(0)).body({}).text, second = *View(listed, tail(1)).body({}).text;
    EXPECT_NE(first.find("\"2.0\""), std::string::npos) << "it ends 6 s before the end";
    EXPECT_EQ(second.find("\"2.0\""), std::string::npos);
    EXPECT_NE(second.find("\"3.0\""), std::string::npos);
}

TEST(View, OnlyReportsHaveTheQueryOfAViewer) {
    m3u8::PlaylistTail end = tail(1);
    end.reports = {{"audio.m3u8", 13, 0}};
    const View view(segments(3), end);
    const View::Body plain = view.body({.query = "?hls_ctx=a"}),
                     gzipped = view.body({.gzip = true, .query = "?hls_ctx=a"});
    EXPECT_TRUE(plain.personal && gzipped.personal && gzipped.gzipped);
    EXPECT_EQ(unzip(*gzipped.text), *plain.text);
    EXPECT_TRUE(plain.text->ends_with(
        "URI=\"hint\"\n#EXT-X-RENDITION-REPORT:URI=\"audio.m3u8?hls_ctx=a\",LAST-MSN=13,LAST-PART=0\n"))
        << *plain.text;
    std::string without = *plain.text;
    without.erase(without.find("?hls_ctx=a"), 10);
    EXPECT_EQ(without, *view.body({}).text);
    EXPECT_EQ(unzip(*view.body({.gzip = true, .query = "?hls_ctx=b"}).text).size(), plain.text->size());
    const View::Body all = view.body({.query = "?hls_ctx=a", .all_uris = true});
    for (const char* uri :
         {"\n0.ts?hls_ctx=a\n", "\"o.0?hls_ctx=a\"", "\"hint?hls_ctx=a\"", "\"audio.m3u8?hls_ctx=a\""})
        EXPECT_NE(all.text->find(uri), std::string::npos) << uri;
}

TEST(View, WithoutReportsTheTextIsThatOfAll) {
    const View view(segments(3), tail(1));
    EXPECT_EQ(view.body({.query = "?hls_ctx=a"}).text, view.body({}).text);
}

TEST(View, WithoutPartsAllUrisMayHaveTheQueryOfAViewerToo) {
    const View view(segments(3, false));
    const PlaylistForm form{.query = "?hls_ctx=a", .all_uris = true},
        zipped{.gzip = true, .query = "?hls_ctx=a", .all_uris = true};
    EXPECT_NE(view.body(form).text->find("\n2.ts?hls_ctx=a\n"), std::string::npos);
    EXPECT_EQ(unzip(*view.body(zipped).text), *view.body(form).text);
}

TEST(View, ItsEndIsTheNextPart) {
    const m3u8::PlaylistEnd end = View(segments(3), tail(2)).end();
    EXPECT_EQ(end.next, (m3u8::PartPosition{13, 2}));
    EXPECT_EQ(end.parts_before, 4u);
    EXPECT_EQ(end.max_segment_parts, 4u + 6u);
    EXPECT_FALSE(end.ended);
    EXPECT_EQ(View(segments(3), tail(0)).end().next, (m3u8::PartPosition{13, 0}));
}

}  // namespace
}  // namespace service::hls

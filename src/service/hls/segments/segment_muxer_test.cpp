#include "service/hls/segments/segment_muxer.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"
#include "media/aac.h"

namespace service::hls {

namespace {

struct Bytes : ByteSink {
    std::vector<uint8_t> all;
    void put(std::span<const uint8_t> bytes) override { all.insert(all.end(), bytes.begin(), bytes.end()); }
};

media::Frame vp9(std::string_view payload, bool header) {
    media::Frame frame;
    frame.kind = media::Kind::kVideo;
    frame.codec = media::Codec::kVp9;
    frame.sequence_header = header;
    frame.keyframe = !header;
    frame.payload = base::Slice::copy(base::hex(payload));
    return frame;
}

}  // namespace

TEST(HlsPacker, TheInitSegmentHasTheSizeThatOnlyTheFirstFrameTells) {
    Bytes sink;
    auto muxer = make_mp4_muxer(sink);
    media::TrackSet tracks;
    tracks.update(vp9("000b820202020000", true));
    media::Frame first = vp9("824983420013f00b360438241c18", false);  // 320x180
    ASSERT_TRUE(muxer->open(tracks, first, true));
    EXPECT_TRUE(muxer->has(media::Kind::kVideo));
    EXPECT_FALSE(muxer->has(media::Kind::kAudio));
    // vp09's fields: size, then 72 dpi.
    EXPECT_NE(muxer->init()->find(std::string("\x01\x40\x00\xb4\x00\x48\x00\x00", 8)), std::string::npos);
    ASSERT_TRUE(muxer->add(first));
    muxer->end_part(media::from_ms(40));
    EXPECT_EQ(std::string(sink.all.begin() + 4, sink.all.begin() + 8), "styp");
}

TEST(HlsPacker, TransportStreamHasAllTracks) {
    Bytes sink;
    auto muxer = make_ts_muxer(sink);
    media::TrackSet tracks;
    tracks.describe({{media::Kind::kAudio, 0, "eng"}, {media::Kind::kAudio, 1, "fr"}});
    media::Frame first;
    for (uint8_t index : {0, 1}) {
        media::Frame header;
        header.kind = media::Kind::kAudio;
        header.codec = media::Codec::kAac;
        header.track = index;
        header.sequence_header = true;
        header.payload = media::make_aac_config(2, 48'000, 2);
        tracks.update(header);
    }
    ASSERT_TRUE(muxer->open(tracks, first, true));
    EXPECT_TRUE(muxer->has(media::Kind::kAudio));
    EXPECT_FALSE(muxer->has(media::Kind::kVideo));
    for (uint8_t index : {0, 1}) {
        media::Frame frame;
        frame.kind = media::Kind::kAudio;
        frame.codec = media::Codec::kAac;
        frame.track = index;
        frame.payload = base::Slice::copy("raw");
        ASSERT_TRUE(muxer->add(frame));
    }
    EXPECT_TRUE(sink.all.empty());  // each waits for others of its track
    muxer->end_part({});
    EXPECT_EQ(sink.all.size(), 4 * 188u);
    const std::string_view text(reinterpret_cast<const char*>(sink.all.data()), sink.all.size());
    EXPECT_NE(text.find("\x0a\x04"
                        "eng"),
              text.npos);
    EXPECT_NE(text.find("\x0a\x04"
                        "fra"),
              text.npos);
}

}  // namespace service::hls

#include "service/hls/packer.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

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
    auto packer = make_mp4_packer(sink);
    media::TrackSet tracks;
    tracks.note(vp9("000b820202020000", true));
    media::Frame first = vp9("824983420013f00b360438241c18", false);  // 320x180
    ASSERT_TRUE(packer->open(tracks, first, true));
    // vp09's fields: size, then 72 dpi.
    EXPECT_NE(packer->init()->find(std::string("\x01\x40\x00\xb4\x00\x48\x00\x00", 8)), std::string::npos);
    ASSERT_TRUE(packer->add(first));
    ASSERT_TRUE(packer->close(media::from_ms(40)));
    EXPECT_EQ(std::string(sink.all.begin() + 4, sink.all.begin() + 8), "styp");
}

}  // namespace service::hls

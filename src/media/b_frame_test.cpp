#include "media/b_frame.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"
#include "media/nalu.h"

namespace media {
namespace {

using base::hex;

Frame video_frame(Codec codec, int64_t dts, int32_t cts, std::string_view nalu, bool keyframe = false) {
    base::SliceBuilder payload;
    append_length_prefixed(payload, hex("0605"));
    append_length_prefixed(payload, hex(nalu));
    Frame frame;
    frame.kind = Kind::kVideo;
    frame.codec = codec;
    frame.dts = media::from_ms(dts);
    frame.cts = media::from_ms(cts);
    frame.keyframe = keyframe;
    frame.payload = payload.freeze();
    return frame;
}

TEST(BFrame, IsDetectedBySliceType) {
    EXPECT_TRUE(is_h264_b_slice(hex("01 9e")));   // first_mb 0, slice_type 6
    EXPECT_TRUE(is_h264_b_slice(hex("01 a8")));   // slice_type 1
    EXPECT_FALSE(is_h264_b_slice(hex("41 9a")));  // 5, P
    EXPECT_FALSE(is_h264_b_slice(hex("65 88")));  // IDR
    EXPECT_FALSE(is_h264_b_slice(hex("41")));
    EXPECT_FALSE(is_h264_b_slice({}));
    BFrameDetector detector;
    EXPECT_TRUE(detector.is_b_frame(video_frame(Codec::kH264, 0, 0, "019e"), 4));
    EXPECT_FALSE(detector.is_b_frame(video_frame(Codec::kH264, 40, 0, "419a"), 4));
}

TEST(BFrame, IsDetectedByTimesOfOtherCodecs) {
    BFrameDetector detector;
    // Decoding order I P B b P, presentation order I B b P P.
    EXPECT_FALSE(detector.is_b_frame(video_frame(Codec::kHevc, 0, 80, "2601", true), 4));
    EXPECT_FALSE(detector.is_b_frame(video_frame(Codec::kHevc, 40, 160, "0201"), 4));
    EXPECT_TRUE(detector.is_b_frame(video_frame(Codec::kHevc, 80, 80, "0201"), 4));
    EXPECT_TRUE(detector.is_b_frame(video_frame(Codec::kHevc, 120, 0, "0201"), 4));
    EXPECT_FALSE(detector.is_b_frame(video_frame(Codec::kHevc, 160, 80, "0201"), 4));
    // Timestamps that start again.
    EXPECT_FALSE(detector.is_b_frame(video_frame(Codec::kHevc, -10'000, 0, "0201"), 4));
    EXPECT_FALSE(detector.is_b_frame(video_frame(Codec::kHevc, -9'960, 0, "0201"), 4));
}

}  // namespace
}  // namespace media

#include "protocol/mp4/fragment.h"

#include <gtest/gtest.h>

#include "protocol/mp4/frames_testing.h"

namespace mp4 {

using media::Codec;
using media::Frame;
using media::hex;

namespace {

std::vector<uint8_t> joined(const FragmentBytes& fragment) {
    std::vector<uint8_t> out;
    for (auto piece : fragment.pieces) out.insert(out.end(), piece.begin(), piece.end());
    EXPECT_EQ(out.size(), fragment.size);
    return out;
}

FragmentBuilder with_tracks(int64_t origin_ms = 0) {
    FragmentBuilder builder(origin_ms);
    EXPECT_TRUE(*builder.set_header(h264_header()));
    EXPECT_TRUE(*builder.set_header(aac_header()));
    return builder;
}

}  // namespace

TEST(Mp4Fragment, ByteByByte) {
    FragmentBuilder builder = with_tracks();
    ASSERT_TRUE(builder.add(frame_of(Codec::kH264, 3, 0x11, 40, 80, true)));
    ASSERT_TRUE(builder.add(frame_of(Codec::kAac, 2, 0xaa, 46)));
    ASSERT_TRUE(builder.add(frame_of(Codec::kH264, 1, 0x22, 80, -40)));
    ASSERT_TRUE(builder.add(frame_of(Codec::kAac, 1, 0xbb, 70)));
    EXPECT_EQ(builder.samples(), 4u);
    EXPECT_EQ(builder.bytes(), 7u);
    EXPECT_EQ(builder.span_ms(), 40);
    auto expected =
        hex("00000018 73747970 6d736468 00000000 6d736468 69736f36"  // styp
            "000000b8 6d6f6f66 00000010 6d666864 00000000 00000001"
            "00000058 74726166"
            "00000014 74666864 00020008 00000001 00000028"           // track 1, each sample lasts 40
            "00000014 74666474 01000000 00000000 00000028"           // from 40
            "00000028 7472756e 01000a05 00000002 000000c0 02000000"  // first is a sync sample; sizes and offsets follow
            "00000003 00000050 00000001 ffffffd8"
            "00000048 74726166"
            "00000010 74666864 00020000 00000002"
            "00000014 74666474 01000000 00000000 000007ed"  // 46 ms of 44,100 Hz
            "0000001c 7472756e 01000201 00000002 000000c4 00000002 00000001"
            "0000000f 6d646174 111111 22 aaaa bb"
            "00000008 66726565");
    EXPECT_EQ(joined(builder.cut({.styp = true, .next_video_dts = 120, .seal = true})), expected);
    EXPECT_TRUE(builder.empty());
    EXPECT_EQ(builder.span_ms(), 0);
    EXPECT_EQ(builder.cut().size, 0u);
}

}  // namespace mp4

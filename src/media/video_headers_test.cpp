// AV1, VP9 and VP8.
#include <gtest/gtest.h>

#include "base/hex_testing.h"
#include "media/av1.h"
#include "media/vpx.h"

namespace media {

using base::hex;

TEST(Av1, ReadsARealConfiguration) {
    // From SVT-AV1, 320x180.
    auto config = parse_av1_config(hex("81000c00 0a0b 0200000561e7f66017c002"));
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->profile, 0);
    EXPECT_EQ(config->bit_depth, 8);
    ASSERT_TRUE(config->sequence);
    EXPECT_EQ(config->sequence->width, 320);
    EXPECT_EQ(config->sequence->height, 180);
    EXPECT_EQ(av1_profile_name(0), "Main");
    EXPECT_EQ(av1_level_name(5), "3.1");
    EXPECT_EQ(av1_level_name(31), "");
}

TEST(Av1, MakesTheConfigurationOfARealSequenceHeader) {
    auto made = make_av1_config(hex("0200000561e7f66017c002"));
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(*made, base::Slice::copy(hex("81000c00 0a0b 0200000561e7f66017c002")));
    EXPECT_FALSE(make_av1_config(hex("0200000561e7")));
}

TEST(Av1, IteratesOverObus) {
    auto bytes = hex("1200 0a0b 0200000561e7f66357cc02 32 02 aabb 30 cc");
    ObuReader obus(bytes);
    std::vector<int> types;
    while (auto obu = obus.next()) types.push_back(obu->type);
    EXPECT_EQ(types, (std::vector<int>{2, 1, 6, 6}));
    EXPECT_TRUE(obus.ok());
}

TEST(Av1, RefusesMalformedInput) {
    EXPECT_FALSE(parse_av1_config(hex("81000c")));
    EXPECT_FALSE(parse_av1_config(hex("82000c00")));
    EXPECT_FALSE(parse_av1_config(hex("81000c00 0a0b 02")));  // an OBU longer than the record
    EXPECT_FALSE(parse_av1_sequence(hex("0200")));
    auto broken = hex("1200 0aff");
    ObuReader obus(broken);
    EXPECT_TRUE(obus.next());
    EXPECT_FALSE(obus.next());
    EXPECT_FALSE(obus.ok());
}

TEST(Vp9, ReadsConfigurations) {
    for (const char* text : {"000b820202020000", "01000000 000b820202020000"}) {
        auto config = parse_vp_config(hex(text));
        ASSERT_TRUE(config) << text;
        EXPECT_EQ(config->profile, 0);
        EXPECT_EQ(config->level, 11);
        EXPECT_EQ(config->bit_depth, 8);
    }
    EXPECT_EQ(vp9_level_name(11), "1.1");
    EXPECT_EQ(vp9_level_name(0), "");
    EXPECT_FALSE(parse_vp_config(hex("000b8202020200")));
    EXPECT_FALSE(parse_vp_config(hex("000b820202020001")));
    EXPECT_FALSE(parse_vp_config(hex("070b820202020000")));
}

TEST(Vp9, MakesTheConfigurationOfARealKeyFrame) {
    auto made = make_vp9_config(hex("824983420013f00b360438241c18"));
    ASSERT_TRUE(made) << made.error().text();
    EXPECT_EQ(*made, base::Slice::copy(hex("01000000 000b820202020000")));
    EXPECT_FALSE(make_vp9_config(hex("8600")));
}

TEST(Vp9, ReadsKeyFrames) {
    auto frame = parse_vp9_frame(hex("824983420013f00b360438241c18"));
    ASSERT_TRUE(frame) << frame.error().text();
    EXPECT_TRUE(frame->keyframe);
    EXPECT_EQ(frame->width, 320);
    EXPECT_EQ(frame->height, 180);
    EXPECT_FALSE(parse_vp9_frame(hex("8249834200")));
    EXPECT_FALSE(parse_vp9_frame(hex("00")));
    EXPECT_FALSE(parse_vp9_frame(hex("82aaaaaa0013f00b36")));
    EXPECT_FALSE(parse_vp9_frame({}));
    EXPECT_FALSE(parse_vp9_frame(hex("8600"))->keyframe);
}

TEST(Vp8, ReadsKeyFrames) {
    auto frame = parse_vp8_frame(hex("b04300 9d012a b0009000 07"));
    ASSERT_TRUE(frame) << frame.error().text();
    EXPECT_TRUE(frame->keyframe);
    EXPECT_EQ(frame->width, 176);
    EXPECT_EQ(frame->height, 144);
    EXPECT_FALSE(parse_vp8_frame(hex("b143")));
    EXPECT_FALSE(parse_vp8_frame(hex("b04300 9d012a b000")));
    EXPECT_FALSE(parse_vp8_frame(hex("b14300"))->keyframe);
}

}  // namespace media

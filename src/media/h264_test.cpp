#include "media/h264.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace media {

namespace {

using base::hex;

// From real encoders: x264 High 768x320, x264 Constrained Baseline 640x360 (cropped from 640x368).
const char* const kHigh = "0164 0020 ffe1 0019 67640020acd940c029b011000003000100000300320f183196 01 0005 68ebecb22c";
const char* const kBaseline =
    "0142 c01e ffe1 0019 6742c01ed890280bfe5c0440000003004000000c83c58b8980 01 0005 68c888cb20";
}  // namespace

TEST(H264, ReadsTheConfiguration) {
    auto bytes = hex(kHigh);
    auto config = parse_avc_config(bytes);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->profile_idc, 100);
    EXPECT_EQ(config->level_idc, 32);
    EXPECT_EQ(config->nalu_length_size, 4);
    ASSERT_EQ(config->sps.size(), 1u);
    ASSERT_EQ(config->pps.size(), 1u);
    EXPECT_EQ(config->pps[0].size(), 5u);
}

TEST(H264, ReadsSizes) {
    struct Case {
        const char* name;
        const char* sps;
        int width, height;
        bool interlaced;
        const char* profile;
        const char* level;
    };
    const Case cases[] = {
        {"high", "67640020acd940c029b011000003000100000300320f183196", 768, 320, false, "High", "3.2"},
        {"cropped", "6742c01ed890280bfe5c0440000003004000000c83c58b8980", 640, 360, false, "Constrained Baseline", "3"},
        {"4:4:4", "67f40028919b280f0044fc4e0220000003002000000641e30632c0", 1920, 1080, false, "High 4:4:4 Predictive",
         "4"},
        {"odd 4:4:4", "67f4000d919b282a33c7c5e022000003000200000300641e28532c", 322, 182, false,
         "High 4:4:4 Predictive", "1.3"},
        {"interlaced", "6764001eacd940b424d8088000000300800000190f8a14cb", 720, 576, true, "High", "3"},
        {"interlaced and cropped", "67640028acd94078044fde0220000003002000000643e2c5b2c0", 1920, 1080, true, "High",
         "4"},
        {"scaling lists, 4:2:2", "677a000cbcd941419f8dc044000003000400000300c83c50a658", 320, 180, false, "High 4:2:2",
         "1.2"},
    };
    for (const Case& c : cases) {
        auto bytes = hex(c.sps);
        auto sps = parse_h264_sps(bytes);
        ASSERT_TRUE(sps) << c.name << sps.error().text();
        EXPECT_EQ(sps->width, c.width) << c.name;
        EXPECT_EQ(sps->height, c.height) << c.name;
        EXPECT_EQ(sps->interlaced, c.interlaced) << c.name;
        EXPECT_EQ(h264_profile_name(sps->profile_idc, sps->constraints), c.profile);
        EXPECT_EQ(h264_level_name(sps->level_idc, sps->constraints), c.level);
    }
}

TEST(H264, EveryCutConfigurationIsAnError) {
    for (const char* text : {kHigh, kBaseline}) {
        auto bytes = hex(text);
        for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(parse_avc_config(std::span(bytes).first(n))) << n;
    }
}

TEST(H264, RefusesBadConfigurations) {
    auto bytes = hex(kHigh);
    bytes[0] = 2;
    EXPECT_FALSE(parse_avc_config(bytes));
    bytes[0] = 1;
    bytes[4] = 0xfe;  // length prefixes of three bytes
    EXPECT_FALSE(parse_avc_config(bytes));
    EXPECT_FALSE(parse_h264_sps(hex("68 ebecb22c")));
    EXPECT_FALSE(parse_h264_sps(hex("67 64 00 20")));
}

TEST(H264, WritesWhatItReads) {
    auto bytes = hex(kBaseline);
    auto config = parse_avc_config(bytes);
    ASSERT_TRUE(config);
    auto made = make_avc_config(config->sps[0], config->pps[0]);
    ASSERT_TRUE(made);
    EXPECT_EQ(*made, base::Slice::copy(bytes));
    bytes = hex(kHigh);
    config = parse_avc_config(bytes);
    made = make_avc_config(config->sps[0], config->pps[0]);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->sub(bytes.size()), base::Slice::copy(hex("fd f8 f8 00")));
    EXPECT_FALSE(make_avc_config(hex("67"), hex("68")));
}

// One rule for all readers: what those of TS and RTP make of parameter sets is valid for those of FLV and MP4.
TEST(H264, MakesNoConfigurationOfAnSpsCroppedToNothing) {
    const auto sps = hex("67640020acd940c078b011000003000100000300320f18319600"), pps = hex("68ebecb22c");
    EXPECT_FALSE(parse_h264_sps(sps));
    EXPECT_FALSE(make_avc_config(sps, pps));
}

TEST(H264, LevelNames) {
    EXPECT_EQ(h264_level_name(31), "3.1");
    EXPECT_EQ(h264_level_name(40), "4");
    EXPECT_EQ(h264_level_name(11, 0x10), "1b");
    EXPECT_EQ(h264_level_name(0), "");
}

}  // namespace media

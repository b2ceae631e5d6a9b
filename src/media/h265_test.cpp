#include "media/h265.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace media {

namespace {

using base::hex;

// From x265, Main, 768x320.
const char* const kVps = "40010c01ffff01600000030090000003000003003f959809";
const char* const kSps = "42010101600000030090000003000003003fa00602014165959a4932bc05a708000003000800000300c840";
const char* const kPps = "4401c172b46240";
}  // namespace

TEST(H265, ReadsTheSps) {
    auto sps = parse_hevc_sps(hex(kSps));
    ASSERT_TRUE(sps) << sps.error().text();
    EXPECT_EQ(sps->width, 768);
    EXPECT_EQ(sps->height, 320);
    EXPECT_EQ(sps->profile.profile_idc(), 1);
    EXPECT_EQ(sps->profile.level_idc, 63);
    EXPECT_EQ(sps->bit_depth_luma, 8);
    EXPECT_EQ(sps->chroma_format_idc, 1);
    EXPECT_EQ(sps->reordered_frames, 2);
    EXPECT_EQ(sps->frame_duration, Time(std::chrono::milliseconds(40)));
    EXPECT_EQ(hevc_profile_name(1), "Main");
    EXPECT_EQ(hevc_level_name(63), "2.1");
    EXPECT_EQ(hevc_level_name(120), "4");
}

TEST(H265, WritesAConfigurationAndReadsIt) {
    auto made = make_hevc_config(hex(kVps), hex(kSps), hex(kPps));
    ASSERT_TRUE(made) << made.error().text();
    auto config = parse_hevc_config(*made);
    ASSERT_TRUE(config);
    EXPECT_EQ(config->nalu_length_size, 4);
    EXPECT_EQ(config->profile.compatibility, 0x60000000u);
    EXPECT_EQ(config->profile.constraints, 0x900000000000u);
    ASSERT_EQ(config->sps.size(), 1u);
    auto sps = hex(kSps);
    EXPECT_EQ(std::vector<uint8_t>(config->sps[0].begin(), config->sps[0].end()), sps);
    EXPECT_EQ(config->vps.size(), 1u);
    EXPECT_EQ(config->pps.size(), 1u);
    for (size_t n = 0; n < made->size(); ++n) EXPECT_FALSE(parse_hevc_config(made->bytes().first(n))) << n;
}

TEST(H265, RefusesMalformedInput) {
    EXPECT_FALSE(parse_hevc_sps(hex(kVps)));
    EXPECT_FALSE(parse_hevc_sps(hex("4201010160")));
    EXPECT_FALSE(parse_hevc_sps({}));
    EXPECT_FALSE(make_hevc_config(hex(kVps), hex(kPps), hex(kPps)));
    EXPECT_FALSE(make_hevc_config(hex(kVps), hex(kSps), hex("44"))) << "half a header";
    auto made = make_hevc_config(hex(kVps), hex(kSps), hex(kPps));
    std::vector<uint8_t> bytes(made->begin(), made->end());
    bytes[0] = 9;
    EXPECT_FALSE(parse_hevc_config(bytes));
    bytes[0] = 1;
    bytes[21] = 0xfe;  // length prefixes of three bytes
    EXPECT_FALSE(parse_hevc_config(bytes));
}

// Who reads both bytes of a unit's header may rely on them.
TEST(H265, ParameterSetsWithoutAWholeHeaderAreLeftOut) {
    auto made = make_hevc_config(hex(kVps), hex(kSps), hex(kPps));
    std::vector<uint8_t> bytes(made->begin(), made->end());
    bytes.resize(bytes.size() - hex(kPps).size() - 2);
    for (const uint8_t byte : {0, 1, 0x44}) bytes.push_back(byte);  // a PPS of one byte
    auto config = parse_hevc_config(bytes);
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->sps.size(), 1u);
    EXPECT_TRUE(config->pps.empty());
}

}  // namespace media

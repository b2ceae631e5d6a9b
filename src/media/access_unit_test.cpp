#include "media/access_unit.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"

namespace media {
namespace {

using base::hex;

// "key", "recovery", "inter", or the error.
std::string read(Codec codec, std::string_view units, bool flagged, int length_size = 4) {
    auto unit = read_access_unit(codec, hex(units), length_size, flagged);
    if (!unit) return unit.error().text();
    EXPECT_FALSE(unit->keyframe && unit->recovery_point);
    return unit->keyframe ? "key" : unit->recovery_point ? "recovery" : "inter";
}

// H.264: first_mb_in_slice 0, slice_type 5 to 7 (P, B, I), 2 (I).
constexpr const char* kIdr = "00000002 6588";
constexpr const char* kP = "00000002 419a";
constexpr const char* kB = "00000002 019e";
constexpr const char* kI = "00000002 4188";
constexpr const char* kIOfMixed = "00000002 41b0";
constexpr const char* kSei = "00000005 060601c480";
constexpr const char* kAud = "00000002 09f0";

std::string units(std::initializer_list<const char*> parts) {
    std::string all;
    for (const char* part : parts) all += part;
    return all;
}

TEST(AccessUnit, ItsNalUnitsDecideAboutAKeyframe) {
    for (const bool flagged : {false, true}) {
        EXPECT_EQ(read(Codec::kH264, kIdr, flagged), "key") << flagged;
        EXPECT_EQ(read(Codec::kH264, units({kAud, kSei, kIdr, kIdr}), flagged), "key") << flagged;
        EXPECT_EQ(read(Codec::kH264, kP, flagged), "inter") << flagged;
        EXPECT_EQ(read(Codec::kH264, units({kAud, kB}), flagged), "inter") << flagged;
        EXPECT_EQ(read(Codec::kH264, units({kAud, kSei, kP}), flagged), "recovery") << flagged;
        EXPECT_EQ(read(Codec::kH264, units({kP, kSei}), flagged), "inter") << "SEI behind the slice is of another";
        EXPECT_EQ(read(Codec::kH264, units({kI, kP}), flagged), "inter") << "intra refresh by slices";
        for (int type = 0; type < 64; ++type) {
            const uint8_t payload[] = {0, 0, 0, 3, static_cast<uint8_t>(type << 1), 1, 0x80};
            auto unit = read_access_unit(Codec::kHevc, payload, 4, flagged);
            ASSERT_TRUE(unit);
            const bool irap = type >= 16 && type <= 23;
            EXPECT_EQ(unit->keyframe, irap || (type >= 32 && flagged)) << type;
        }
        EXPECT_EQ(read(Codec::kHevc, "00000006 4e010601d080 00000003 020180", flagged), "recovery");
    }
}

TEST(AccessUnit, AFlagCountsWhereItsUnitsDoNotContradict) {
    EXPECT_EQ(read(Codec::kH264, kI, true), "key") << "encoders without IDR pictures after the first";
    EXPECT_EQ(read(Codec::kH264, units({kI, kIOfMixed}), true), "key");
    EXPECT_EQ(read(Codec::kH264, units({kSei, kI}), true), "key");
    EXPECT_EQ(read(Codec::kH264, kI, false), "inter");
    EXPECT_EQ(read(Codec::kH264, kAud, true), "key") << "no slice";
    EXPECT_EQ(read(Codec::kH264, kAud, false), "inter");
    EXPECT_EQ(read(Codec::kH264, kSei, false), "inter");
    EXPECT_EQ(read(Codec::kH264, "00000001 41", true), "inter") << "a slice that is cut short";
}

TEST(AccessUnit, LengthPrefixes) {
    EXPECT_EQ(read(Codec::kH264, "00000000 00000001 65", false), "key") << "empty units are skipped";
    EXPECT_EQ(read(Codec::kH264, "0001 65", false, 2), "key");
    EXPECT_EQ(read(Codec::kH264, "01 65", false, 1), "key");
    for (const char* bad : {"00000002 65", "00000001 65 0000", "00000001 65 ffffffff 41", "00000000", "", "6588"})
        EXPECT_NE(read(Codec::kH264, bad, true).find("an access unit of "), std::string::npos) << bad;
    // Annex B instead of lengths: the first start code looks like a unit of one byte.
    EXPECT_NE(read(Codec::kH264, "00000001 67640020 00000001 68ebecb2", true).find("runs past the end"),
              std::string::npos);
}

TEST(AccessUnit, SliceTypes) {
    EXPECT_EQ(h264_slice_type(hex("419a")), 0);
    EXPECT_EQ(h264_slice_type(hex("019e")), 1);
    EXPECT_EQ(h264_slice_type(hex("6588")), 2);
    EXPECT_EQ(h264_slice_type(hex("41b0")), 2);
    EXPECT_EQ(h264_slice_type(hex("41")), std::nullopt);
    EXPECT_EQ(h264_slice_type(hex("06 88")), std::nullopt);
    EXPECT_EQ(h264_slice_type({}), std::nullopt);
}

}  // namespace
}  // namespace media

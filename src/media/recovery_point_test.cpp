#include "media/recovery_point.h"

#include <gtest/gtest.h>

#include <vector>

namespace media {
namespace {

using Unit = std::vector<uint8_t>;

// SEI of H.264: type 6, one byte of size, ue(v) of recovery_frame_cnt and four flag bits.
const Unit kAtOnce{0x06, 0x06, 0x01, 0xc4, 0x80};               // recovery_frame_cnt 0
const Unit kAfter39{0x06, 0x06, 0x03, 0x05, 0x02, 0x20, 0x80};  // ue(39)

TEST(RecoveryPoint, IsFoundInSei) {
    EXPECT_TRUE(is_recovery_point(Codec::kH264, kAtOnce));
    EXPECT_TRUE(is_recovery_point(Codec::kH264, kAfter39));
    // Behind another message, whose payload has emulation prevention bytes: 00 00 03 is two bytes.
    EXPECT_TRUE(is_recovery_point(Codec::kH264, Unit{0x06, 0x01, 0x04, 0, 0, 3, 0, 0, 3, 0x06, 0x01, 0xc4, 0x80}));
    EXPECT_TRUE(is_recovery_point(Codec::kHevc, Unit{0x4e, 0x01, 0x06, 0x01, 0xd0, 0x80}));
}

TEST(RecoveryPoint, IsNotFoundInOtherUnits) {
    EXPECT_FALSE(is_recovery_point(Codec::kH264, Unit{}));
    EXPECT_FALSE(is_recovery_point(Codec::kH264, Unit{0x06}));
    EXPECT_FALSE(is_recovery_point(Codec::kH264, Unit{0x06, 0x06})) << "no size";
    EXPECT_FALSE(is_recovery_point(Codec::kH264, Unit{0x06, 0x06, 0x05, 0xc4})) << "shorter than its size";
    EXPECT_FALSE(is_recovery_point(Codec::kH264, Unit{0x06, 0x01, 0x01, 0xc4, 0x80})) << "picture timing";
    EXPECT_FALSE(is_recovery_point(Codec::kH264, Unit{0x06, 0x01, 0x02, 0x06, 0x01, 0x80})) << "a 6 within it";
    EXPECT_FALSE(is_recovery_point(Codec::kH264, Unit{0x06, 0x06, 0x04, 0x00, 0x01, 0x00, 0x00, 0x80}))
        << "after 32,767 pictures";
    EXPECT_FALSE(is_recovery_point(Codec::kH264, Unit(100'000, 0xff)));
}

TEST(RecoveryPoints, CountAtADistance) {
    RecoveryPoints points;
    EXPECT_TRUE(points.may_begin_at(false, true)) << "the first";
    EXPECT_TRUE(points.may_begin_at(true, false));
    for (uint32_t i = 1; i < RecoveryPoints::kMinFrames; ++i) EXPECT_FALSE(points.may_begin_at(false, true)) << i;
    EXPECT_TRUE(points.may_begin_at(false, true));
    EXPECT_FALSE(points.may_begin_at(false, true));
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(points.may_begin_at(false, false));
    EXPECT_TRUE(points.may_begin_at(false, true));
    EXPECT_TRUE(points.may_begin_at(true, true)) << "keyframes always";
}

}  // namespace
}  // namespace media

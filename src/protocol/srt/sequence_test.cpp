#include "protocol/srt/sequence.h"

#include <gtest/gtest.h>

namespace srt {
namespace {

TEST(SrtSequence, DifferencesGoTheShorterWay) {
    EXPECT_EQ(sequence_difference(5, 3), 2);
    EXPECT_EQ(sequence_difference(3, 5), -2);
    EXPECT_EQ(sequence_difference(1, kMaxSequence), 2);
    EXPECT_EQ(sequence_difference(kMaxSequence, 1), -2);
    EXPECT_EQ(sequence_difference(0x3fffffff, 0), 0x3fffffff);
    EXPECT_EQ(sequence_difference(0x40000000, 0), -0x40000000);
}

TEST(SrtSequence, NumbersAreExtendedToTheNearest) {
    EXPECT_EQ(unwrap_sequence(kMaxSequence, kMaxSequence - 1), int64_t{kMaxSequence});
    EXPECT_EQ(unwrap_sequence(0, kMaxSequence), int64_t{kMaxSequence} + 1);
    EXPECT_EQ(unwrap_sequence(kMaxSequence, 0), -1);
    EXPECT_EQ(wire_sequence(-1), kMaxSequence);
    for (int64_t at = 7; at < int64_t{1} << 40; at = at * 3 + 5) {
        EXPECT_EQ(unwrap_sequence(wire_sequence(at + 1000), at), at + 1000);
        EXPECT_EQ(unwrap_sequence(wire_sequence(at - 1000), at), at - 1000);
        EXPECT_EQ(unwrap_timestamp(wire_timestamp(at + 1'000'000), at), at + 1'000'000);
        EXPECT_EQ(unwrap_timestamp(wire_timestamp(at - 1'000'000), at), at - 1'000'000);
    }
}

TEST(SrtSequence, MessageNumbersLeaveOutZero) {
    EXPECT_EQ(message_number(0), 1u);
    EXPECT_EQ(message_number(kMaxMessage - 1), kMaxMessage);
    EXPECT_EQ(message_number(kMaxMessage), 1u);
}

}  // namespace
}  // namespace srt

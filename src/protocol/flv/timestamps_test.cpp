#include "protocol/flv/timestamps.h"

#include <gtest/gtest.h>

namespace flv {
namespace {

using media::Kind;

TEST(Timestamps, GoOnOverTheWrapEachTrackByItself) {
    Timestamps timestamps;
    struct {
        Kind kind;
        uint32_t timestamp;
        int64_t ms;
    } const kRows[] = {
        {Kind::kVideo, 0xfffffff0, 0xfffffff0}, {Kind::kAudio, 0x00000004, 0x100000004},
        {Kind::kVideo, 0xfffffffa, 0xfffffffa}, {Kind::kVideo, 0x00000020, 0x100000020},
        {Kind::kAudio, 0xffffffff, 0xffffffff},
    };
    for (const auto& row : kRows)
        EXPECT_EQ(media::to_ms(timestamps.of_frame(row.kind, row.timestamp)), row.ms) << row.timestamp;
}

TEST(Timestamps, OfACompanionMoveNothing) {
    Timestamps timestamps;
    EXPECT_EQ(media::to_ms(timestamps.of_companion(77)), 77);
    (void)timestamps.of_frame(Kind::kVideo, 5'000);
    EXPECT_EQ(media::to_ms(timestamps.of_companion(0)), 0);
    EXPECT_EQ(media::to_ms(timestamps.of_frame(Kind::kVideo, 5'040)), 5'040);
}

TEST(Timestamps, SeventyYears) {
    Timestamps timestamps;
    for (int64_t ms = 0; ms < int64_t{1} << 41; ms += 1'000'000'000) {
        ASSERT_EQ(media::to_ms(timestamps.of_frame(Kind::kVideo, static_cast<uint32_t>(ms))), ms);
        ASSERT_EQ(media::to_ms(timestamps.of_frame(Kind::kAudio, static_cast<uint32_t>(ms + 10))), ms + 10);
    }
}

// Each frame as far ahead as 32 bits allow: thousands of them would not fit into a time.
TEST(Timestamps, JumpsAsFarAsTheyMayDoNotOverflow) {
    for (uint32_t jump : {0x7fffffffu, 0x80000001u}) {
        Timestamps timestamps;
        media::Time last{};
        for (uint32_t i = 0, timestamp = 0; i < 100'000; ++i, timestamp += jump)
            last = timestamps.of_frame(Kind::kVideo, timestamp);
        EXPECT_EQ(media::distance(last, media::Time(0)), std::chrono::seconds(media::kMaxSeconds));
    }
}

}  // namespace
}  // namespace flv

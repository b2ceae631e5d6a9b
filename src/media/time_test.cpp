#include "media/time.h"

#include <gtest/gtest.h>

#include "media/sample_clock.h"

namespace media {
namespace {

TEST(Time, EveryUsualRateComesBackExactly) {
    for (int64_t rate : {1'000, 7'350, 8'000, 11'025, 12'000, 16'000, 22'050, 24'000, 32'000, 44'100, 48'000, 64'000,
                         88'200, 90'000, 96'000, 176'400, 192'000}) {
        EXPECT_EQ(Time::period::den % rate, 0) << rate;
        for (int64_t ticks : {int64_t{0}, int64_t{1}, int64_t{-1}, rate - 1, 3'600 * rate + 7, -3'600 * rate - 7,
                              int64_t{1} << 40, -(int64_t{1} << 40)}) {
            const Time time = from_ticks(ticks, rate);
            EXPECT_EQ(to_ticks(time, rate), ticks) << rate;
            EXPECT_EQ(time.count(), ticks * (Time::period::den / rate)) << rate;
        }
    }
}

TEST(Time, FramesOfNtscAreWholeUnits) {
    for (int64_t timescale : {24'000, 30'000, 60'000, 120'000}) {
        const Time frame = from_ticks(1'001, timescale);
        EXPECT_EQ(frame.count() * timescale, 1'001 * Time::period::den) << timescale;
    }
}

TEST(Time, RoundsToTheNearestTickOnBothSidesOfZero) {
    const Time half = from_ms(1) / 2;
    EXPECT_EQ(to_ms(from_ms(5) + half), 6);
    EXPECT_EQ(to_ms(from_ms(5) + half - Time(1)), 5);
    EXPECT_EQ(to_ms(-half), 0);
    EXPECT_EQ(to_ms(-half - Time(1)), -1);
    EXPECT_EQ(to_ms(from_ms(-5) + half), -4);
}

TEST(Time, OddRatesAreRounded) {
    for (int64_t rate : {11'468, 37'800, 999'983})
        for (int64_t ticks = -1'000; ticks < 1'000; ticks += 7)
            EXPECT_EQ(to_ticks(from_ticks(ticks, rate), rate), ticks) << rate;
    // The largest rate and time do not overflow.
    EXPECT_EQ(from_ticks(int64_t{0xffffffff} * 3'600, 0xffffffff), std::chrono::hours(1));
    EXPECT_EQ(to_ticks(std::chrono::hours(1), 0xffffffff), int64_t{0xffffffff} * 3'600);
}

TEST(Time, DistantTimesAreLimited) {
    for (int64_t sign : {-1, 1}) {
        const Time max = std::chrono::seconds(sign * kMaxSeconds);
        EXPECT_EQ(from_ms(sign * INT64_MAX), max);
        EXPECT_LE(distance(from_ticks(sign * INT64_MAX, 90'000), max), std::chrono::seconds(1));
        EXPECT_LE(distance(from_us(sign * INT64_MAX), max), std::chrono::seconds(1));
        EXPECT_EQ(distance(max, -max).count(), 2 * kMaxSeconds * Time::period::den);
    }
}

// Two hours of 44.1 kHz, each time rounded to ms as publishers do, by rounding or by truncating.
TEST(SampleClock, RecoversTheExactTimes) {
    for (bool truncates : {false, true}) {
        SampleClock clock;
        const Time duration = from_ticks(1'024, 44'100);
        Time shift{};
        for (int64_t i = 0; i < 310'000; ++i) {
            const Time exact = i * duration;
            const Time published = from_ms(truncates ? exact / from_ms(1) : to_ms(exact));
            const Time time = clock.next(published, duration);
            ASSERT_EQ(to_ms(time), to_ms(published)) << i;
            // Once settled it stays exact.
            if (i == 1'000) shift = time - exact;
            if (i > 1'000) {
                ASSERT_EQ(time - exact, shift) << i;
            }
            ASSERT_LE(distance(time, exact), from_ms(1)) << i;
        }
    }
}

TEST(SampleClock, FollowsJitterAndGaps) {
    constexpr int64_t kPublished[] = {0, 23, 46, 70, 60, 130, 5'000, 5'023, 100, 123};
    SampleClock clock;
    for (int64_t ms : kPublished) EXPECT_EQ(to_ms(clock.next(from_ms(ms), from_ticks(1'024, 44'100))), ms);
}

TEST(SampleClock, LeavesFramesOfUnknownDurationAlone) {
    SampleClock clock;
    for (int64_t ms : {0, 20, 41, 60}) EXPECT_EQ(clock.next(from_ms(ms), Time(0)), from_ms(ms));
}

}  // namespace
}  // namespace media

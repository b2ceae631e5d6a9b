#include "media/aac_clock.h"

#include <gtest/gtest.h>

namespace media {
namespace {

TEST(AacClock, CountsSamplesWhileTimesAgree) {
    AacClock clock;
    auto corrected = [&](int64_t ms, int samples, int rate) {
        return to_ms(clock.correct(from_ms(ms), samples, rate));
    };
    // 1,024 samples at 44.1 kHz are 23.2 ms; the published times jitter around it.
    const int64_t jittered[] = {1'000, 1'040, 1'030, 1'075, 1'085};
    const int64_t even[] = {1'000, 1'023, 1'046, 1'070, 1'093};
    for (int i = 0; i < 5; ++i) EXPECT_EQ(corrected(jittered[i], 1'024, 44'100), even[i]);
    // A real gap is kept.
    EXPECT_EQ(corrected(2'000, 1'024, 44'100), 2'000);
    EXPECT_EQ(corrected(2'020, 1'024, 44'100), 2'023);
    EXPECT_EQ(corrected(500, 1'024, 44'100), 500);
    // Without a configuration the time is unchanged.
    EXPECT_EQ(corrected(777, 0, 0), 777);
    // It does not drift: an hour of frames from a good publisher, whose timestamps are rounded to ms.
    AacClock hour;
    for (int64_t n = 0; n < 155'000; ++n) {
        const Time exact = from_ticks(n * 1'024, 44'100);
        const Time published = from_ms(to_ms(exact));
        EXPECT_EQ(hour.correct(published, 1'024, 44'100), exact);
    }
}

}  // namespace
}  // namespace media

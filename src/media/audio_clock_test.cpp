#include "media/audio_clock.h"

#include <gtest/gtest.h>

namespace media {
namespace {

using Action = AudioClock::Action;

// Frames of 1024 samples at 48 kHz.
struct Feed {
    AudioClock clock{48'000, 60};
    int64_t expected = 0;
    Action at(int64_t time) {
        auto step = clock.next(time, expected, 1024);
        if (step.action == Action::kDrop) return step.action;
        if (step.action == Action::kJump) expected = time;
        expected += 1024 + (step.action == Action::kFill ? step.samples : 0) + step.stretch;
        return step.action;
    }
};

TEST(AudioClock, TheFirstFrameSetsTheTime) {
    Feed feed;
    EXPECT_EQ(feed.at(48'000'000), Action::kJump);
    EXPECT_EQ(feed.at(48'001'024), Action::kPlay);
}

TEST(AudioClock, JitterIsIgnored) {
    Feed feed;
    feed.at(0);
    for (int i = 1; i < 1000; ++i) {
        int64_t exact = i * 1024;
        EXPECT_EQ(feed.at(exact / 48 * 48 + (i % 3 - 1) * 96), Action::kPlay) << i;  // ms, with 2 ms of jitter
    }
    EXPECT_EQ(feed.expected, 1000 * 1024);  // nothing was stretched
}

TEST(AudioClock, AShortGapIsFilledAndALongOneSkipped) {
    Feed feed;
    feed.at(0);
    EXPECT_EQ(feed.at(1024 + 9600), Action::kFill);
    EXPECT_EQ(feed.expected, 2 * 1024 + 9600);
    EXPECT_EQ(feed.at(feed.expected + 480'000), Action::kJump);
}

TEST(AudioClock, LateAudioIsDroppedUnlessItStaysLate) {
    Feed feed;
    feed.at(480'000);
    EXPECT_EQ(feed.at(475'000), Action::kDrop);
    EXPECT_EQ(feed.at(feed.expected), Action::kPlay);
    int dropped = 0;
    int64_t time = 0;
    while (feed.at(time) == Action::kDrop && dropped < 1000) {
        time += 1024;
        ++dropped;
    }
    EXPECT_NEAR(dropped, 94, 3);  // two seconds
    EXPECT_EQ(feed.at(time + 1024), Action::kPlay);
}

TEST(AudioClock, ADriftingClockIsFollowed) {
    for (double speed : {1.0005, 0.9995}) {
        Feed feed;
        feed.at(0);
        double time = 0;
        for (int i = 1; i < 47 * 600; ++i) {
            time += 1024 * speed;
            ASSERT_EQ(feed.at(static_cast<int64_t>(time)), Action::kPlay) << i;
            ASSERT_LT(std::abs(feed.expected - 1024 - time), 48 * 15) << i;  // within 15 ms, over ten minutes
        }
    }
}

}  // namespace
}  // namespace media

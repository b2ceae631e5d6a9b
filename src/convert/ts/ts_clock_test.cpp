#include "convert/ts/ts_clock.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convert {
namespace {

using media::Kind;

struct Sent {
    int64_t arrival_ms;
    Kind kind;
    int64_t sent_ms;
    int64_t expected_ms;
    bool jumped = false;
};

struct ClockCase {
    std::string name;
    std::vector<Sent> frames;
};

constexpr Kind kV = Kind::kVideo, kA = Kind::kAudio;
constexpr int64_t kDay = 95'443'718;  // of 33 bits at 90 kHz

}  // namespace

TEST(TsClock, Times) {
    const ClockCase cases[] = {
        {"a sender that starts near 0 keeps its times",
         {{0, kV, 1'480, 1'480}, {40, kV, 1'520, 1'520}, {41, kA, 1'400, 1'400}}},
        {"others start at a second", {{0, kV, 50'000, 1'000}, {1, kA, 49'700, 700}, {40, kV, 50'040, 1'040}}},
        {"a time below 0", {{0, kV, -5, 1'000}}},
        {"a wrap is none: times are unwrapped before", {{0, kV, kDay - 20, 1'000}, {40, kV, kDay + 20, 1'040}}},
        {"a pause of sender and clock", {{0, kV, 1'000, 1'000}, {60'000, kV, 61'000, 61'000}}},
        {"a restart far behind goes on by the local clock",
         {{0, kV, 50'000, 1'000}, {40, kV, 50'040, 1'040}, {3'040, kV, 0, 4'040, true}, {3'080, kV, 40, 4'080}}},
        {"a restart far ahead",
         {{0, kV, 0, 0}, {40, kV, 40, 40}, {540, kV, 900'000, 540, true}, {580, kV, 900'040, 580}}},
        {"at once: not at the same time again", {{0, kV, 1'000, 1'000}, {0, kV, 90'000, 1'020, true}}},
        {"the other track follows, and keeps its distance",
         {{0, kV, 50'000, 1'000},
          {1, kA, 49'900, 900},
          {1'000, kV, 700, 2'000, true},
          {1'001, kA, 600, 1'900, true},
          {1'040, kV, 740, 2'040},
          {1'041, kA, 640, 1'940}}},
        {"what is left of the time before is no jump",
         {{0, kV, 50'000, 1'000},
          {1, kA, 49'900, 900},
          {20, kV, 700, 1'020, true},
          {21, kA, 49'923, 923},
          {60, kV, 740, 1'060},
          {61, kA, 600, 920, true}}},
        {"a track that comes later fits",
         {{0, kV, 9'000, 9'000}, {5'000, kV, 14'000, 14'000}, {5'001, kA, 13'900, 13'900}}},
        {"a track whose clock is another one",
         {{0, kV, 9'000, 9'000}, {10, kA, 900'000, 9'020, true}, {40, kV, 9'040, 9'040}, {33, kA, 900'023, 9'043}}},
        {"small steps back are not corrected here", {{0, kV, 1'000, 1'000}, {40, kV, 950, 950}}},
    };
    for (const ClockCase& c : cases) {
        TsClock clock;
        uint64_t jumps = 0;
        for (size_t i = 0; i < c.frames.size(); ++i) {
            const Sent& frame = c.frames[i];
            const auto moment = clock.at(frame.kind, 0, media::from_ms(frame.sent_ms), frame.arrival_ms * 1000);
            EXPECT_EQ(media::to_ms(moment.time), frame.expected_ms) << c.name << ", " << i;
            EXPECT_EQ(moment.jumped, frame.jumped) << c.name << ", " << i;
            jumps += moment.jumped;
        }
        EXPECT_EQ(clock.jumps(), jumps) << c.name;
    }
}

TEST(TsClock, NoSequenceOfTimesOverflows) {
    TsClock clock;
    for (int i = 0; i < 1000; ++i) {
        const int64_t sent = (i % 2 ? 1 : -1) * (int64_t{1} << (i % 62));
        const auto moment = clock.at(i % 3 ? kV : kA, 0, media::from_ticks(sent, 90'000), i * 1'000);
        EXPECT_LT(media::distance(moment.time, media::Time(0)), media::Time(std::chrono::hours(3)));
    }
}

}  // namespace convert

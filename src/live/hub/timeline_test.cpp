#include "live/hub/timeline.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/flv/timestamps.h"

namespace live {
namespace {

using media::Kind;
constexpr Kind V = Kind::kVideo;
constexpr Kind A = Kind::kAudio;

struct Step {
    Kind kind;
    uint32_t published;
    int64_t expected;
};

// A timeline for a publisher that sends 32 bits of ms.
class Milliseconds {
  public:
    void set_mode(TimeJitter mode) { timeline_.set_mode(mode); }
    void restart() {
        timeline_.restart();
        timestamps_ = {};
    }
    int64_t correct(Kind kind, uint32_t published) {
        return media::to_ms(timeline_.correct(kind, 0, timestamps_.of_frame(kind, published)).time);
    }
    int64_t companion_time(uint32_t published) const {
        return media::to_ms(timeline_.companion_time(timestamps_.of_companion(published)));
    }
    int64_t last() const { return media::to_ms(timeline_.last()); }
    uint64_t jumps() const { return timeline_.jumps(); }

  private:
    Timeline timeline_;
    flv::Timestamps timestamps_;
};

void run(Milliseconds& timeline, const std::vector<Step>& steps) {
    for (size_t i = 0; i < steps.size(); ++i)
        EXPECT_EQ(timeline.correct(steps[i].kind, steps[i].published), steps[i].expected) << "step " << i;
}

TEST(Timeline, LeavesAGoodStreamAlone) {
    Milliseconds t;
    run(t, {{V, 40, 40}, {A, 23, 23}, {A, 46, 46}, {V, 80, 80}, {V, 9000, 9000}});
}

TEST(Timeline, StartsAtZeroWhenThePublisherStartsFarOut) {
    Milliseconds t;
    run(t, {{V, 5'000'000, 0}, {A, 5'000'010, 10}, {V, 5'000'040, 40}});
}

TEST(Timeline, CarriesOnOverTheWrap) {
    Milliseconds t;
    run(t, {{V, 0xFFFFFFF0u, 0}, {A, 0xFFFFFFFAu, 10}, {V, 0x18, 40}, {A, 0x1C, 44}});
    EXPECT_EQ(t.jumps(), 0u);
}

// A publisher's 32 bits of ms: where a difference changes its sign, and where they wrap; twice.
TEST(Timeline, NineWeeksOfFramesInEveryMode) {
    for (TimeJitter mode : {TimeJitter::kFull, TimeJitter::kZero, TimeJitter::kOff}) {
        Milliseconds t;
        t.set_mode(mode);
        constexpr int64_t kStep = 9'000, kEnd = (int64_t{1} << 33) + 100'000;
        for (int64_t ms = 0; ms < kEnd; ms += kStep) {
            ASSERT_EQ(t.correct(V, static_cast<uint32_t>(ms)), ms) << static_cast<int>(mode);
            ASSERT_EQ(t.correct(A, static_cast<uint32_t>(ms + 20)), ms + 20) << static_cast<int>(mode);
            ASSERT_EQ(t.companion_time(static_cast<uint32_t>(ms + 20)), ms + 20) << static_cast<int>(mode);
        }
        EXPECT_EQ(t.jumps(), 0u);
    }
}

TEST(Timeline, CarriesOnOverTheHalf) {
    Milliseconds t;
    run(t, {{V, 0x7FFFFFF0u, 0}, {A, 0x7FFFFFFAu, 10}, {V, 0x80000018u, 40}, {A, 0x8000001Cu, 44}});
    EXPECT_EQ(t.jumps(), 0u);
}

TEST(Timeline, RemovesAJumpForwardAndKeepsTracksInStep) {
    Milliseconds t;
    run(t, {{V, 0, 0}, {A, 10, 10}, {V, 3'600'040, 50}, {A, 33, 33}, {A, 3'600'056, 66}, {V, 3'600'080, 90}});
}

TEST(Timeline, RemovesAJumpBackAndKeepsTracksInStep) {
    Milliseconds t;
    run(t, {{V, 5'000, 5'000}, {A, 5'010, 5'010}, {V, 100, 5'050}, {A, 120, 5'070}, {V, 140, 5'090}});
    EXPECT_EQ(t.jumps(), 2u);
}

TEST(Timeline, NeverGoesBackWithinATrack) {
    Milliseconds t;
    run(t, {{V, 100, 100}, {V, 90, 100}, {V, 140, 140}});
}

TEST(Timeline, GoesOnAfterARestart) {
    Milliseconds t;
    run(t, {{V, 1000, 1000}, {A, 1020, 1020}});
    t.restart();
    run(t, {{V, 0, 1060}, {A, 5, 1065}, {V, 40, 1100}});
}

TEST(Timeline, AllowsASparseTrack) {
    Milliseconds t;
    std::vector<Step> steps{{A, 0, 0}};
    for (uint32_t i = 1; i < 40; ++i) steps.push_back({V, i * 1000, i * 1000});
    steps.push_back({A, 40'000, 40'000});
    run(t, steps);
    EXPECT_EQ(t.jumps(), 0u);
}

TEST(Timeline, OtherModes) {
    Milliseconds zero;
    zero.set_mode(TimeJitter::kZero);
    run(zero, {{V, 5'000'000, 0}, {V, 8'600'000, 3'600'000}, {V, 5'000'000, 0}});
    Milliseconds off;
    off.set_mode(TimeJitter::kOff);
    run(off, {{V, 5'000'000, 5'000'000}, {V, 100, 100}});
}

// Video and audio, 40 ms apart, whose times jump at the third: the video first, the audio two frames later.
std::string discontinuities(TimeJitter mode, int64_t jump_ms, int64_t audio_jump_ms) {
    Timeline timeline;
    timeline.set_mode(mode);
    std::string marks;
    auto feed = [&](Kind kind, int64_t ms) {
        marks += timeline.correct(kind, 0, media::from_ms(ms)).discontinuity ? (kind == V ? 'V' : 'A') : '.';
    };
    for (int64_t i = 0; i < 8; ++i) {
        feed(V, 100'000 + i * 40 + (i < 3 ? 0 : jump_ms));
        feed(A, 100'005 + i * 40 + (i < 5 ? 0 : audio_jump_ms));
    }
    return marks;
}

TEST(Timeline, ReportsAJumpOnceForAllTracks) {
    for (TimeJitter mode : {TimeJitter::kFull, TimeJitter::kZero, TimeJitter::kOff}) {
        EXPECT_EQ(discontinuities(mode, 3'600'000, 3'600'000), "......V.........") << static_cast<int>(mode);
        EXPECT_EQ(discontinuities(mode, 5'000, 5'000), "................") << static_cast<int>(mode);
    }
    for (TimeJitter mode : {TimeJitter::kFull, TimeJitter::kOff})
        EXPECT_EQ(discontinuities(mode, -90'000, -90'000), "......V.........") << static_cast<int>(mode);
    // Each track jumps elsewhere: corrected, it is one break.
    EXPECT_EQ(discontinuities(TimeJitter::kFull, 3'600'000, 50'000), "......V.........");
}

// Two audio tracks beside the video: the second keeps its distance.
TEST(Timeline, TracksOfOneKindAreCorrectedEach) {
    Timeline timeline;
    auto at = [&](Kind kind, uint8_t track, int64_t ms) {
        return media::to_ms(timeline.correct(kind, track, media::from_ms(ms)).time);
    };
    EXPECT_EQ(at(V, 0, 5'000'000), 0);
    EXPECT_EQ(at(A, 0, 5'000'010), 10);
    EXPECT_EQ(at(A, 1, 5'000'004), 4) << "a track does not push back another";
    EXPECT_EQ(at(V, 0, 100), 50) << "a jump";
    EXPECT_EQ(at(A, 0, 110), 60);
    EXPECT_EQ(at(A, 1, 104), 54);
}

TEST(Timeline, TimesOfCompanions) {
    Milliseconds t;
    EXPECT_EQ(t.companion_time(0), 0);
    t.correct(V, 7'000'000);
    EXPECT_EQ(t.companion_time(0), 0);
    t.correct(V, 7'005'000);
    EXPECT_EQ(t.companion_time(0), 5'000);
    EXPECT_EQ(t.companion_time(7'004'990), 4'990);
}

}  // namespace
}  // namespace live

#include "service/dvr/cutter.h"

#include <gtest/gtest.h>

#include <string>

#include "live/hub/testing.h"

namespace service::dvr {
namespace {

using live::testing::audio;
using live::testing::video;

// "b" begins, "." appends, "-" drops.
struct Script {
    Cutter cutter;
    bool at_keyframes = false;
    std::string text;

    explicit Script(const CutOptions& options) : cutter(options) {}
    Script& feed(const media::Frame& frame) {
        if (frame.kind == media::Kind::kVideo) at_keyframes = true;
        Step step = cutter.step(frame, frame.dts, at_keyframes);
        text += step == Step::kBegin ? 'b' : step == Step::kAppend ? '.' : '-';
        return *this;
    }
};

constexpr CutOptions kSession{};
constexpr CutOptions kSegment{.segments = true, .duration_ms = 1000};

TEST(Cutter, ASessionIsOneFile) {
    Script run(kSession);
    run.feed(video(0, true)).feed(audio(10)).feed(video(40)).feed(video(100'000, true)).feed(audio(100'001));
    EXPECT_EQ(run.text, "b....");
}

TEST(Cutter, SegmentsBeginAtTheFirstKeyframeAfterTheirTime) {
    Script run(kSegment);
    for (int64_t t = 0; t < 3000; t += 100) run.feed(video(t, t % 400 == 0)).feed(audio(t + 1));
    // Keyframes every 400 ms: cuts at 1200 and 2400.
    std::string want = "b" + std::string(23, '.') + "b" + std::string(23, '.') + "b" + std::string(11, '.');
    EXPECT_EQ(run.text, want);
}

TEST(Cutter, AudioAloneIsCutByTime) {
    Script run(kSegment);
    for (int64_t t = 0; t < 2500; t += 250) run.feed(audio(t));
    EXPECT_EQ(run.text, "b...b...b.");
}

TEST(Cutter, AudioBeforeTheFirstVideoIsKept) {
    Script run(kSession);
    run.feed(audio(0)).feed(audio(20)).feed(video(30)).feed(video(40, true)).feed(audio(50)).feed(video(80));
    EXPECT_EQ(run.text, "b.-...") << "a frame before the first keyframe cannot be decoded";
}

TEST(Cutter, JoinedInTheMiddleItWaitsForAKeyframe) {
    Script run(kSession);
    run.at_keyframes = true;
    run.feed(audio(0)).feed(video(10)).feed(audio(20)).feed(video(30, true)).feed(audio(40));
    EXPECT_EQ(run.text, "---b.");
}

TEST(Cutter, WithoutTheWaitItTakesEverythingAndCutsToTheTime) {
    Script run({.segments = true, .duration_ms = 100, .wait_keyframe = false});
    run.at_keyframes = true;
    run.feed(video(0)).feed(audio(50)).feed(video(100)).feed(video(150)).feed(audio(200));
    EXPECT_EQ(run.text, "b.b.b");
}

TEST(Cutter, AChangeBeginsAFileAtOnceAndLosesNothing) {
    Script run(kSession);
    run.feed(video(0, true)).feed(video(40));
    run.cutter.file_must_end();
    run.feed(audio(50)).feed(video(80)).feed(video(120, true));
    EXPECT_EQ(run.text, "b.b..");
}

TEST(Cutter, AfterAnErrorItBeginsAnew) {
    Script run(kSession);
    run.feed(video(0, true)).feed(video(40));
    run.cutter.file_ended();
    run.feed(audio(50)).feed(video(80)).feed(video(120, true)).feed(audio(121));
    EXPECT_EQ(run.text, "b.--b.");
}

}  // namespace
}  // namespace service::dvr

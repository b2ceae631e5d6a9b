// Discontinuities: other publishers, tracks and times.

#include "convert/segments/segmenter_testing.h"

namespace convert {
namespace {

TEST_F(SegmenterTest, AStepOfTheWallClockChangesTheDatesAlone) {
    for (const int64_t step : {int64_t{864'000'000}, int64_t{-3'600'000}}) {
        segments_.clear();
        fed_.clear();
        use(2'000);
        begin();
        headers();
        header(Kind::kAudio, "held");  // also what is held waits by the other clock
        flow(0, 3'000, 2'000);
        const int64_t before = wall_ms_;
        wall_ms_ += step;
        for (int64_t dts = 3'000; dts < 10'000; dts += 40) video(dts, dts % 2'000 == 0), audio(dts + 7);
        segmenter_->end();
        EXPECT_EQ(durations(), (Durations{2'000, 2'000, 2'000, 2'000, 2'000})) << step;
        EXPECT_EQ(discontinuities(), (Flags{false, false, false, false, false})) << step;
        EXPECT_EQ(segments_[1].wall_ms, before + 2'000);
        EXPECT_EQ(segments_[2].wall_ms, before + step + 4'000);
        expect_keyframes();
        expect_all();
    }
}

TEST_F(SegmenterTest, AnotherConfigurationBeginsASegment) {
    use(4'000);
    begin();
    headers();
    flow(0, 2'000, 1'000);
    headers();  // identical headers: no effect
    flow(2'000, 3'000, 1'000);
    header(Kind::kVideo, "another");
    flow(3'000, 5'000, 1'000);
    header(Kind::kAudio, "another");
    flow(5'000, 8'000, 1'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{3'000, 3'000, 2'000}));
    EXPECT_EQ(discontinuities(), (Flags{false, true, true}));
    // The new audio was held until the keyframe at 6 s; the keyframe at 5 s came before it.
    EXPECT_EQ(segments_[2].frames[0].kind, Kind::kAudio);
    EXPECT_EQ(media::to_ms(segments_[2].frames[0].dts), 5'007);
    expect_keyframes();
    expect_all();
}

TEST_F(SegmenterTest, APublisherThatComesBackBeginsBehindADiscontinuity) {
    use(2'000);
    for (int64_t from : {0, 1'000, 2'000}) {
        begin();
        headers();
        flow(from, from + 1'000, 1'000);
        segmenter_->end();
    }
    EXPECT_EQ(durations(), (Durations{1'000, 1'000, 1'000}));
    EXPECT_EQ(discontinuities(), (Flags{false, true, true}));
    expect_all();
}

TEST_F(SegmenterTest, AMendedJumpIsADiscontinuityAtTheNextKeyframe) {
    use(4'000);
    begin();
    headers();
    flow(0, 1'480, 1'000);
    discontinuity_ = true;
    for (int64_t dts = 1'480; dts < 4'000; dts += 40) video(dts, dts % 1'000 == 0), audio(dts + 5);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{2'000, 2'000}));
    EXPECT_EQ(discontinuities(), (Flags{false, true}));
    expect_keyframes();
    expect_all();
}

TEST_F(SegmenterTest, TimesThatJumpByThemselvesEndTheSegment) {
    for (int64_t jump : {int64_t{3'600'000}, int64_t{-90'000}}) {
        segments_.clear();
        fed_.clear();
        use(4'000);
        begin();
        headers();
        int64_t base = 200'000;
        flow(base, base + 1'000, 1'000);
        // The video jumps first; a few audio frames still have the old times.
        video(base + jump + 1'000, true);
        audio(base + 1'007);
        video(base + jump + 1'040, false);
        audio(base + 1'028);
        for (int64_t dts = 1'080; dts < 3'000; dts += 40)
            video(base + jump + dts, dts % 1'000 == 0), audio(base + jump + dts + 5);
        segmenter_->end();
        EXPECT_EQ(durations(), (Durations{1'000, 2'000})) << jump;
        EXPECT_EQ(discontinuities(), (Flags{false, true})) << jump;
        expect_all();
    }
}

// They were written behind later frames of their track.
TEST_F(SegmenterTest, HeldFramesComeBeforeAJump) {
    use(2'000);
    begin();
    headers();
    flow(0, 1'000, 2'000);
    header(Kind::kAudio, "another");
    audio(1'010);  // held until the next keyframe
    audio(100'000);
    for (int64_t dts = 100'040; dts < 103'000; dts += 40) video(dts, dts == 100'040 || dts == 102'040), audio(dts + 7);
    segmenter_->end();
    expect_all();
    EXPECT_EQ(media::to_ms(segments_[1].frames.front().dts), 1'010);
    EXPECT_TRUE(segments_[1].discontinuity && segments_[2].discontinuity);
}

TEST_F(SegmenterTest, ALateFrameOfBeforeAJumpMakesNoLongSegment) {
    use(2'000);
    begin();
    headers();
    flow(500'000, 501'000, 2'000);
    video(100'000, true);  // the video has jumped
    header(Kind::kAudio, "another");
    audio(100'010);  // held until the next keyframe
    audio(501'020);
    video(100'040, false);
    segmenter_->end();
    expect_all();
    for (const int64_t duration : durations()) EXPECT_LE(duration, 1'100);
}

TEST_F(SegmenterTest, NothingLongerThanTheTargetWhenTimesJumpBackEachSecond) {
    use(2'000);
    begin();
    headers();
    for (int64_t base : {500'000, 400'000, 300'000, 900'000}) flow(base, base + 1'000, 1'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{1'000, 1'000, 1'000, 1'000}));
    expect_all();
}

// Each step back is small, but together they led anywhere, and a segment that began there was as long.
TEST_F(SegmenterTest, OneTracksTimesThatGoBackInSmallStepsMakeNoLongSegment) {
    use(2'000);
    begin();
    headers();
    video(500'000, true);
    for (int64_t i = 1; i < 500; ++i) video(500'000 + i * 2, false), audio(500'000 - i * 900);
    header(Kind::kAudio, "another");
    audio(50'000);  // held until the next keyframe
    segmenter_->end();
    expect_all();
    for (const int64_t duration : durations()) EXPECT_LE(duration, 21'000);
}

TEST_F(SegmenterTest, AFirstKeyframeFarBeforeTheAudioMakesNoLongSegment) {
    use(2'000);
    begin();
    header(Kind::kAudio);
    audio(500'000);
    header(Kind::kVideo);
    video(0, true);
    for (int64_t i = 1; i < 50; ++i) video(i * 40, false), audio(500'000 + i * 20);
    segmenter_->end();
    expect_all();
    for (const int64_t duration : durations()) EXPECT_LE(duration, 11'000);
}

TEST_F(SegmenterTest, ALostSegmentIsFollowedByADiscontinuity) {
    use(2'000);
    begin();
    headers();
    lose_at_ = 2'500;
    flow(0, 8'000, 200);
    segmenter_->end();
    // Segments are lost from 2 s on; the next one begins at the first keyframe a second after 2.5 s.
    ASSERT_EQ(durations(), (Durations{2'000, 2'000, 2'000, 400}));
    EXPECT_EQ(media::to_ms(segments_[1].frames.front().dts), 3'600);
    EXPECT_EQ(discontinuities(), (Flags{false, true, false, false}));
    expect_keyframes();
}

}  // namespace
}  // namespace convert

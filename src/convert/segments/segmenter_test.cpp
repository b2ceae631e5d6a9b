// Where segments end, and which frames they have.

#include "convert/segments/segmenter_testing.h"

namespace convert {
namespace {

TEST_F(SegmenterTest, CutsAtTheFirstKeyframeBehindTheFragmentsLength) {
    use(3'000);
    begin();
    headers();
    flow(0, 10'000, 2'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{4'000, 4'000, 2'000}));
    EXPECT_EQ(discontinuities(), (Flags{false, false, false}));
    EXPECT_EQ(segments_[0].closing->next_video_dts, media::from_ms(4'000));
    expect_keyframes();
    expect_all();
}

// Timestamps are chosen by the publisher and may be invalid.
TEST_F(SegmenterTest, FramesThatAllHaveOneTimeAreNotHeldForLong) {
    use(2'000);
    begin();
    header(Kind::kVideo);
    Frame frame = make(Kind::kVideo, Codec::kH264, 0);
    frame.keyframe = true;
    frame.payload = base::Slice::copy(std::string(1'000'000, 'x'));
    size_t most = 0;
    for (int i = 0; i < 100; ++i) {
        frame.payload = base::Slice::copy(frame.payload.bytes());
        segmenter_->feed(frame, at(0));
        most = std::max(most, segmenter_->held_bytes());
    }
    EXPECT_LE(most, Segmenter::kMaxHeldBytes + 2'000'000);
    EXPECT_EQ(segmenter_->held_bytes(), 0u);
    EXPECT_TRUE(segmenter_->open());
    EXPECT_EQ(segments_[0].frames.size(), 100u);
    // The segment's length is limited too.
    monotonic_ms_ += 2 * segmenter_->longest_wait_ms();
    segmenter_->feed(frame, at(0));
    EXPECT_EQ(segments_.size(), 2u);
    segmenter_->end();
}

TEST_F(SegmenterTest, HeldFramesWaitNoLongerByTheClock) {
    use(2'000);
    begin();
    headers();
    video(0, true);
    video(40, false);
    EXPECT_TRUE(segmenter_->open()) << "both tracks are known";
    header(Kind::kAudio, "another");
    audio(60);
    EXPECT_GT(segmenter_->held_bytes(), 0u);
    segmenter_->tick(monotonic_ms_ + Segmenter::kMaxHeldMs - 100);
    EXPECT_GT(segmenter_->held_bytes(), 0u);
    segmenter_->tick(monotonic_ms_ + 60 + Segmenter::kMaxHeldMs);
    EXPECT_EQ(segmenter_->held_bytes(), 0u);
    EXPECT_EQ(segments_.size(), 2u);
    segmenter_->end();
    expect_all();
}

TEST_F(SegmenterTest, ASegmentHasNoMoreThanItsBytes) {
    use({.fragment_ms = 2'000, .max_bytes = 1'000'000});
    begin();
    header(Kind::kVideo);
    for (int64_t dts = 0; dts < 4'000; dts += 40) {
        Frame frame = make(Kind::kVideo, Codec::kH264, dts);
        frame.keyframe = dts == 0;
        frame.payload = base::Slice::copy(std::string(100'000, 'x'));
        segmenter_->feed(frame, at(dts));
    }
    segmenter_->end();
    EXPECT_EQ(segments_.size(), 10u);
}

TEST_F(SegmenterTest, AKeyframeThatIsALittleEarlyIsTheOneMeant) {
    use(2'000);
    begin();
    headers();
    audio(0);
    for (int64_t dts : {0, 1'000, 1'960, 3'990, 5'950}) video(dts, true);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{1'960, 2'030, 1'960, 1'000}));
}

TEST_F(SegmenterTest, AKeyframeEach20SecondsMakesSegmentsOf20Seconds) {
    use(2'000);
    begin();
    headers();
    flow(0, 60'000, 20'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{20'000, 20'000, 20'000}));
    expect_keyframes();
    expect_all();
}

TEST_F(SegmenterTest, ASegmentIsNoLongerThanItMayBe) {
    use(2'000);
    segmenter_->set_longest(media::from_ms(2'499));
    begin();
    headers();
    flow(0, 9'000, 5'000);
    segmenter_->end();
    // The keyframe at 5 s ends a segment that began without one.
    EXPECT_EQ(durations(), (Durations{2'480, 2'480, 40, 2'480, 1'520}));
    EXPECT_TRUE(segments_[3].begins_with_keyframe());
    expect_all();
}

TEST_F(SegmenterTest, AKeyframeBeforeTheLastOneEndsNoSegmentOfAnyLength) {
    use(10'000);
    begin();
    headers();
    flow(0, 1'040, 1'000);
    video(920, true);
    segmenter_->end();
    EXPECT_EQ(durations().size(), 1u);
    expect_all();
}

TEST_F(SegmenterTest, AKeyframeIsTakenWhereTheNextOneWouldComeTooLate) {
    use(10'000);
    segmenter_->set_longest(media::from_ms(10'499));
    begin();
    headers();
    flow(0, 24'000, 6'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{6'000, 6'000, 6'000, 6'000}));
    expect_keyframes();
    expect_all();
}

TEST_F(SegmenterTest, AudioAndPausesToo) {
    use({.fragment_ms = 2'000, .aof_ratio = 10});
    segmenter_->set_longest(media::from_ms(2'499));
    begin();
    header(Kind::kAudio);
    audio_flow(0, 5'000);
    audio(9'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{2'480, 2'480, 2'499, 1'000}));
    expect_all();
}

TEST_F(SegmenterTest, TheDateOfWhatWasHeldIsThatOfItsFirstFrame) {
    use(2'000);
    begin();
    header(Kind::kVideo);
    flow(0, 5'000, 2'000, false);
    segmenter_->end();
    ASSERT_EQ(segments_.size(), 3u);
    EXPECT_EQ(segments_[0].wall_ms, wall_ms_ + 1'000) << "until the tracks were known";
    EXPECT_EQ(segments_[0].date_ms, wall_ms_);
    EXPECT_EQ(segments_[1].date_ms, wall_ms_ + 2'000);
}

TEST_F(SegmenterTest, WithoutWaitingForKeyframesSegmentsHaveTheirLength) {
    use({.fragment_ms = 2'000, .wait_keyframe = false});
    begin();
    headers();
    flow(0, 6'000, 60'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{2'000, 2'000, 2'000}));
    EXPECT_FALSE(segments_[1].begins_with_keyframe());
    expect_all();
}

TEST_F(SegmenterTest, AKeyframeThatNeverComesIsNotWaitedFor) {
    use(2'000);
    begin();
    headers();
    flow(0, 130'000, 1'000'000, false);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{60'000, 60'000, 10'000}));
    expect_all();
}

TEST_F(SegmenterTest, AudioAloneIsCutByItsOwnRatio) {
    use({.fragment_ms = 2'000, .aof_ratio = 1.5});
    begin();
    header(Kind::kAudio);
    audio_flow(0, 7'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{3'000, 3'000, 1'000}));
    EXPECT_FALSE(segments_[0].has_video);
    expect_all();
}

TEST_F(SegmenterTest, AudioAloneEndsAtTheNextFrameWhereItIsToldTo) {
    use({.fragment_ms = 2'000, .aof_ratio = 1.5});
    begin();
    header(Kind::kAudio);
    audio_flow(0, 1'500);
    segmenter_->end_at_next_audio();
    audio_flow(1'500, 5'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{1'500, 3'000, 500})) << "once";
    expect_all();
}

TEST_F(SegmenterTest, VideoAlone) {
    use(2'000);
    begin();
    header(Kind::kVideo);
    flow(0, 5'000, 1'000, false);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{2'000, 2'000, 1'000}));
    EXPECT_FALSE(segments_[0].has_audio);
    expect_keyframes();
    expect_all();
}

TEST_F(SegmenterTest, AShortStreamIsASegmentToo) {
    use(2'000);
    begin();
    header(Kind::kVideo);
    video(0, true);
    video(40, false);
    segmenter_->end();
    EXPECT_EQ(durations(), Durations{80});
    expect_all();
    begin();
    segmenter_->end();
    EXPECT_EQ(segments_.size(), 1u);
}

TEST_F(SegmenterTest, AudioBeforeTheFirstKeyframeIsKept) {
    use(2'000);
    begin();
    header(Kind::kAudio);
    audio(0), audio(20);
    header(Kind::kVideo);
    audio(40);
    flow(60, 3'060, 1'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{2'000, 1'000}));
    EXPECT_TRUE(segments_[0].has_video && segments_[0].has_audio);
    expect_all();
}

TEST_F(SegmenterTest, VideoBeforeTheFirstKeyframeIsNot) {
    use(2'000);
    begin();
    headers();
    video(0, false);
    fed_.clear();
    flow(40, 1'040, 1'000);
    segmenter_->end();
    expect_keyframes();
    expect_all();
}

TEST_F(SegmenterTest, AudioThatComesLaterBeginsWithTheNextKeyframe) {
    use(4'000);
    begin();
    header(Kind::kVideo);
    flow(0, 30'000, 2'000, false);
    header(Kind::kAudio);
    for (int64_t dts = 30'000; dts < 40'000; dts += 40) {
        video(dts, dts % 2'000 == 0 && dts != 30'000);
        audio(dts + 5);
    }
    segmenter_->end();
    expect_keyframes();
    expect_all();
    std::vector<bool> has_audio;
    for (const Written& segment : segments_) has_audio.push_back(segment.has_audio);
    // The segment from 28 to 32 s is the last one without audio.
    EXPECT_EQ(has_audio, (Flags{false, false, false, false, false, false, false, false, true, true}));
    EXPECT_EQ(media::to_ms(segments_[8].frames.front().dts), 30'005);
    EXPECT_TRUE(segments_[8].discontinuity && segments_[8].changed);
    EXPECT_FALSE(segments_[9].discontinuity);
}

TEST_F(SegmenterTest, VideoThatComesLaterBeginsASegmentAtOnce) {
    use(2'000);
    begin();
    headers();  // announces video, which does not arrive
    audio_flow(0, 9'000);
    flow(9'000, 12'000, 1'000);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{4'200, 4'200, 600, 2'000, 1'000}));
    EXPECT_EQ(discontinuities(), (Flags{false, false, false, true, false}));
    EXPECT_FALSE(segments_[2].has_video);
    EXPECT_TRUE(segments_[3].has_video);
    expect_keyframes();
    expect_all();
}

// Video whose keyframe is awaited began a segment with each of its frames, once the beginning was over.
TEST_F(SegmenterTest, AKeyframeFarBehindTheFirstAudioBeginsTheOnlySegmentBeforeItsTime) {
    for (const int64_t first_keyframe : {3'000, 6'000, 12'000}) {
        segments_.clear();
        fed_.clear();
        use(2'000);
        begin();
        headers();
        for (int64_t dts = 0; dts < first_keyframe; dts += 40) {
            video(dts, false);
            fed_.pop_back();  // dropped
            audio(dts + 7), audio(dts + 28);
        }
        flow(first_keyframe, first_keyframe + 6'000, 2'000);
        segmenter_->end();
        std::vector<int64_t> want = {2'000, 2'000, 2'000};
        if (first_keyframe == 6'000) want.insert(want.begin(), {4'200, 6'000 - 4'207});
        if (first_keyframe == 12'000) want.insert(want.begin(), {4'200, 4'200, 12'000 - 8'407});
        EXPECT_EQ(durations(), want) << first_keyframe;
        expect_keyframes();
        expect_all();
    }
}

TEST_F(SegmenterTest, VideoWithoutAnyKeyframeIsNoneAndItsAudioHasSegmentsOfItsLength) {
    use(2'000);
    begin();
    headers();
    for (int64_t dts = 0; dts < 18'000; dts += 20) {
        video(dts, false);
        fed_.pop_back();
        audio(dts);
    }
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{4'200, 4'200, 4'200, 4'200, 1'200}));
    for (const Written& segment : segments_) EXPECT_FALSE(segment.has_video);
    expect_all();
}

// Each frame of a publisher may jump, or have another configuration.
// A file that is published as fast as it goes.
TEST_F(SegmenterTest, SegmentsThatAreNotSmallAreAsManyAsTheStreamHas) {
    use(2'000);
    begin();
    headers();
    const std::string payload(Segmenter::kSmallBytes, 'x');
    for (int i = 0; i < 1'000; ++i) {
        Frame frame = make(Kind::kVideo, Codec::kH264, i * 2'000);
        frame.keyframe = true;
        frame.payload = base::Slice::copy(payload);
        segmenter_->feed(frame, {monotonic_ms_, wall_ms_});
    }
    segmenter_->end();
    EXPECT_EQ(segments_.size(), 1'000u);
    for (size_t i = 1; i < segments_.size(); ++i) EXPECT_FALSE(segments_[i].discontinuity);
}

TEST_F(SegmenterTest, APublisherMakesNoMoreSegmentsThanTheClockAllows) {
    for (const bool jumps : {true, false}) {
        segments_.clear();
        fed_.clear();
        use(2'000);
        begin();
        headers();
        const int64_t begun_ms = monotonic_ms_;
        for (int i = 0; i < 10'000; ++i) {
            monotonic_ms_ = begun_ms + i;  // 1,000 frames a second
            const int64_t dts = jumps ? i * 20'000 : i;
            if (!jumps) header(Kind::kVideo, std::to_string(i));
            Frame frame = make(Kind::kVideo, Codec::kH264, dts);
            frame.keyframe = true;
            frame.payload = base::Slice::copy("x");
            segmenter_->feed(frame, {monotonic_ms_, wall_ms_});
        }
        segmenter_->end();
        EXPECT_GE(segments_.size(), 290u) << jumps;
        EXPECT_LE(segments_.size(), 301u) << jumps;
        for (size_t i = 1; i < segments_.size(); ++i) EXPECT_TRUE(segments_[i].discontinuity);
        // And goes on as ever.
        monotonic_ms_ += 10'000;
        segments_.clear();
        begin();
        headers();
        flow(0, 6'000, 2'000);
        segmenter_->end();
        EXPECT_EQ(durations(), (Durations{2'000, 2'000, 2'000}));
    }
}

TEST_F(SegmenterTest, SegmentsOfAFilePublishedAtOnceGetLonger) {
    use(2'000);
    begin();
    header(Kind::kVideo);
    for (int64_t dts = 0; dts < 3'600'000; dts += 1'000) {
        Frame frame = make(Kind::kVideo, Codec::kH264, dts);
        frame.keyframe = true;
        frame.payload = base::Slice::copy(std::to_string(fed_.size()));
        fed_.push_back(frame);
        segmenter_->feed(frame, {monotonic_ms_ + dts / 1'000, wall_ms_});  // an hour in 3.6 s
    }
    segmenter_->end();
    EXPECT_LE(segments_.size(), 173u);
    EXPECT_GE(segments_.size(), 150u);
    for (const int64_t duration : durations()) EXPECT_LE(duration, segmenter_->longest_wait_ms());
    expect_keyframes();
    expect_all();
}

TEST_F(SegmenterTest, ByTheClock) {
    use({.fragment_ms = 2'000, .ts_floor = true});
    wall_ms_ += 500;  // the stream's time 0 is half a second after a multiple of the fragment length
    begin();
    headers();
    flow(0, 7'000, 200);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{1'600, 2'000, 2'000, 1'400}));
    expect_keyframes();
    expect_all();
}

TEST_F(SegmenterTest, CodecsWithoutHeaders) {
    use({.fragment_ms = 1'000, .aof_ratio = 1});
    begin();
    auto mp3 = [&](int64_t dts) { feed(make(Kind::kAudio, Codec::kMp3, dts)); };
    for (int64_t dts = 0; dts < 2'000; dts += 20) mp3(dts);
    header(Kind::kAudio);
    audio_flow(2'000, 2'500);
    segmenter_->end();
    EXPECT_EQ(durations(), (Durations{1'000, 1'000, 500}));
    EXPECT_EQ(discontinuities(), (Flags{false, false, true}));
    expect_all();
}

}  // namespace
}  // namespace convert

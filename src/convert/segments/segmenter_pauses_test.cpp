// Pauses of a stream, in parts.

#include "convert/segments/segmenter_testing.h"

namespace convert {
namespace {

TEST_F(SegmenterTest, APauseIsPartsWithoutFrames) {
    use({.fragment_ms = 4'000, .part_ms = 333});
    begin();
    header(Kind::kVideo);
    flow(0, 2'000, 4'000, false);
    flow(3'400, 4'000, 4'000, false);
    segmenter_->end();
    ASSERT_EQ(segments_.size(), 1u);
    const std::vector<int64_t> lengths = parts(0);
    std::vector<bool> gaps;
    for (const Part& part : segments_[0].parts) gaps.push_back(part.gap);
    EXPECT_EQ(lengths, (Durations{320, 320, 320, 320, 320, 320, 346, 346, 346, 346, 336, 320, 40}));
    EXPECT_EQ(gaps, (Flags{false, false, false, false, false, false, false, true, true, true, false, false, false}));
    expect_all();
}

// 25 frames a second: parts of 320 ms, a part target of 346.
TEST_F(SegmenterTest, APauseHasPartsByTheClock) {
    use({.fragment_ms = 2'000, .part_ms = 333});
    begin();
    header(Kind::kVideo);
    flow(0, 3'000, 2'000, false);
    int64_t last_ms = latest_ms_;
    for (int64_t ms = latest_ms_; ms < monotonic_ms_ + 12'000; ms += 5) {
        const size_t before = segments_.size() * 1'000 + segments_.back().parts.size();
        segmenter_->tick(ms);
        if (segments_.size() * 1'000 + segments_.back().parts.size() == before) continue;
        EXPECT_LE(ms - last_ms, 525) << "one and a half part targets";
        last_ms = ms;
    }
    segmenter_->end();
    segmenter_->end_gaps();
    EXPECT_EQ(segmenter_->gap_due_ms(), INT64_MAX);
    EXPECT_EQ(parts(1), (Durations{320, 320, 320, 40})) << "it ends with its last frame";
    ASSERT_GE(segments_.size(), 6u);
    for (size_t i = 2; i < segments_.size(); ++i) {
        EXPECT_TRUE(segments_[i].gap && segments_[i].frames.empty()) << i;
        EXPECT_LE(segments_[i].closing->duration, media::from_ms(2'000)) << i;
    }
    const Part& last = segments_.back().parts.back();
    EXPECT_GE(last.start + last.duration, media::from_ms(11'400)) << "in step with the clock";
    expect_all();
}

TEST_F(SegmenterTest, AStreamGoesOnBehindAPauseWithItsTimes) {
    for (const int64_t pause_ms : {720, 5'000}) {
        segments_.clear();
        fed_.clear();
        use({.fragment_ms = 2'000, .part_ms = 333});
        begin();
        header(Kind::kVideo);
        flow(0, 3'000, 2'000, false);
        pause(3'000 + pause_ms);
        flow(3'000 + pause_ms, 10'000, 2'000, false);
        segmenter_->end();
        media::Time end{};
        for (size_t i = 0; i < segments_.size(); ++i) {
            EXPECT_FALSE(segments_[i].discontinuity);
            if (!segments_[i].gap) parts(i);
            EXPECT_EQ(segments_[i].parts.front().start, end) << i;
            end += segments_[i].closing->duration;
        }
        EXPECT_EQ(end, media::from_ms(10'000));
        expect_all();
    }
}

TEST_F(SegmenterTest, TimesBeforeTheEndOfAGapGoOnBehindADiscontinuity) {
    for (const int64_t pause_ms : {1'000, 5'000}) {
        segments_.clear();
        fed_.clear();
        monotonic_ms_ = latest_ms_ + 1'000;
        use({.fragment_ms = 2'000, .part_ms = 333});
        begin();
        header(Kind::kVideo);
        flow(0, 3'000, 2'000, false);
        pause(3'000 + pause_ms);
        flow_late(3'000, 3'000 + pause_ms, 6'000);
        segmenter_->end();
        const auto anew = std::ranges::find_if(segments_, &Written::discontinuity);
        ASSERT_NE(anew, segments_.end());
        EXPECT_EQ(anew->frames.front().dts, media::from_ms(3'000));
        EXPECT_EQ(std::ranges::count_if(segments_, &Written::discontinuity), 1);
        EXPECT_TRUE((anew - 1)->parts.back().gap);
        for (const Written& segment : segments_) ASSERT_TRUE(segment.closing);
        expect_all();
    }
}

TEST_F(SegmenterTest, WhatComesInBurstsHasNoGaps) {
    use({.fragment_ms = 2'000, .part_ms = 333});
    begin();
    header(Kind::kVideo);
    for (int64_t burst = 0; burst < 6'000; burst += 400) {
        pause(burst);
        for (int64_t dts = burst; dts < burst + 400; dts += 40) {
            Frame frame = make(Kind::kVideo, Codec::kH264, dts);
            frame.keyframe = dts % 2'000 == 0;
            frame.payload = base::Slice::copy("x");
            segmenter_->feed(frame, {latest_ms_, wall_ms_});
        }
    }
    segmenter_->end();
    ASSERT_EQ(durations(), (Durations{2'000, 2'000, 2'000}));
    for (size_t i = 0; i < segments_.size(); ++i) EXPECT_EQ(std::ranges::count(gaps(i), true), 0) << "segment " << i;
}

TEST_F(SegmenterTest, APauseOfTheVideoHasPartsOfAudio) {
    use({.fragment_ms = 2'000, .part_ms = 333});
    begin();
    headers();
    flow(0, 3'000, 2'000);
    size_t most = 0;
    for (int64_t dts = 3'000; dts < 12'000; dts += 20) {
        pause(dts);
        const size_t before = segments_.back().parts.size();
        audio(dts + 7);
        most = std::max(most, segments_.back().parts.size() - std::min(before, segments_.back().parts.size()));
    }
    segmenter_->end();
    EXPECT_LE(most, 1u);
    int64_t empty = 0;
    for (size_t i = 0; i < segments_.size(); ++i) {
        empty += std::ranges::count(gaps(i), true);
        EXPECT_FALSE(segments_[i].gap);
    }
    EXPECT_LE(empty, 1) << "where the audio takes the lead: it was ahead of the open part";
    expect_all();
}

TEST_F(SegmenterTest, BetweenTwoPublishersTheClockGoesOn) {
    use({.fragment_ms = 2'000, .part_ms = 333});
    begin();
    header(Kind::kVideo);
    flow(0, 3'000, 2'000, false);
    segmenter_->end();
    pause(7'000);
    const size_t before = segments_.size();
    ASSERT_GE(before, 3u);
    EXPECT_TRUE(segments_.back().gap && !segments_.back().closing);
    begin();
    header(Kind::kVideo);
    flow_late(500'000, 7'000, 503'000);
    segmenter_->end();
    ASSERT_EQ(segments_.size(), before + 2);
    EXPECT_TRUE(segments_[before].discontinuity && segments_[before - 1].closing);
    expect_all();
}

TEST_F(SegmenterTest, AClockThatLeapsMakesNotAnyNumberOfParts) {
    use({.fragment_ms = 2'000, .part_ms = 333});
    begin();
    header(Kind::kVideo);
    flow(0, 3'000, 2'000, false);
    segmenter_->tick(latest_ms_ + 3'600'000);
    size_t made = 0;
    for (const Written& segment : segments_) made += segment.parts.size();
    EXPECT_LE(made, 10u + Segmenter::kMaxGapsAtOnce + 1);
    EXPECT_GT(segmenter_->gap_due_ms(), latest_ms_ + 3'600'000);
}

}  // namespace
}  // namespace convert

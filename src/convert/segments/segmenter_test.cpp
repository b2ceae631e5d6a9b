#include "convert/segments/segmenter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace convert {
namespace {

using media::Codec;
using media::Frame;
using media::Kind;

struct Written {
    int64_t wall_ms = 0, date_ms = 0;
    bool discontinuity = false;
    bool changed = false;
    bool gap = false;
    bool has_video = false, has_audio = false;
    std::vector<Frame> frames;
    std::vector<Part> parts;
    std::optional<Closing> closing;

    bool begins_with_keyframe() const {
        for (const Frame& frame : frames)
            if (frame.kind == Kind::kVideo) return frame.keyframe;
        return true;
    }
};

Frame make(Kind kind, Codec codec, int64_t dts) {
    Frame frame;
    frame.kind = kind;
    frame.codec = codec;
    frame.dts = media::from_ms(dts);
    return frame;
}

class SegmenterTest : public testing::Test, public SegmentSink {
  protected:
    void use(const CutOptions& options) { segmenter_ = std::make_unique<Segmenter>(options, *this); }
    void use(int64_t fragment_ms) { use({.fragment_ms = fragment_ms}); }

    void open_segment(const Opening& opening) override {
        ASSERT_FALSE(open_);
        open_ = true;
        segments_.push_back({opening.wall_ms,
                             opening.date_ms,
                             opening.discontinuity,
                             opening.tracks_changed,
                             false,
                             opening.tracks.video() != nullptr,
                             opening.tracks.audio() != nullptr,
                             {},
                             {},
                             {}});
    }
    void open_gap(media::Time start) override {
        ASSERT_FALSE(open_);
        ASSERT_FALSE(segments_.empty());
        const Part& last = segments_.back().parts.back();
        EXPECT_EQ(start, last.start + last.duration);
        open_ = true;
        segments_.emplace_back();
        segments_.back().gap = true;
    }
    void write_frame(const Frame& frame) override {
        ASSERT_TRUE(open_);
        segments_.back().frames.push_back(frame);
        if (lose_at_ && media::to_ms(frame.dts) >= *lose_at_) {
            lose_at_.reset();
            open_ = false;
            segments_.pop_back();
            segmenter_->lost();
        }
    }
    void end_part(const PartEnd& end) override {
        ASSERT_TRUE(open_);
        segments_.back().parts.push_back(end.part);
    }
    void close_segment(const Closing& closing) override {
        ASSERT_TRUE(open_);
        open_ = false;
        segments_.back().closing = closing;
    }

    void feed(Frame frame) {
        frame.payload = base::Slice::copy(std::to_string(fed_.size()));
        frame.discontinuity = std::exchange(discontinuity_, false);
        update(frame);
        fed_.push_back(frame);
        segmenter_->feed(frame, at(media::to_ms(frame.dts)));
    }
    // The monotonic clock does not follow a publisher's times back.
    Arrival at(int64_t ms) {
        latest_ms_ = std::max(latest_ms_, monotonic_ms_ + ms);
        return {latest_ms_, wall_ms_ + ms};
    }
    // As the stream does, here and below.
    void begin() {
        const uint32_t revision = tracks_->revision;
        tracks_ = base::make_ref<media::TrackSet>();
        tracks_->revision = revision;
        segmenter_->begin();
    }
    void update(const Frame& frame) {
        if (!tracks_->changes_state(frame)) return;
        tracks_ = base::make_ref<media::TrackSet>(*tracks_);
        tracks_->update(frame);
        segmenter_->set_tracks(tracks_);
    }
    void header(Kind kind, std::string_view payload = "header") {
        Frame frame = make(kind, kind == Kind::kVideo ? Codec::kH264 : Codec::kAac, 0);
        frame.sequence_header = true;
        frame.payload = base::Slice::copy(payload);
        update(frame);
    }
    void video(int64_t dts, bool keyframe) {
        Frame frame = make(Kind::kVideo, Codec::kH264, dts);
        frame.keyframe = keyframe;
        feed(frame);
    }
    void audio(int64_t dts) { feed(make(Kind::kAudio, Codec::kAac, dts)); }
    void headers() {
        header(Kind::kVideo);
        header(Kind::kAudio);
    }
    // Video at 25 frames per second from `from` to before `to`, a keyframe every gop_ms; optionally with audio in
    // between.
    void flow(int64_t from, int64_t to, int64_t gop_ms, bool with_audio = true) {
        for (int64_t dts = from; dts < to; dts += 40) {
            video(dts, (dts - from) % gop_ms == 0);
            if (with_audio) audio(dts + 7), audio(dts + 28);
        }
    }
    void audio_flow(int64_t from, int64_t to) {
        for (int64_t dts = from; dts < to; dts += 20) audio(dts);
    }
    // By the clock, from the newest frame's arrival to that time, without frames.
    void pause(int64_t to) {
        for (int64_t ms = latest_ms_; ms <= monotonic_ms_ + to; ms += 5)
            if (ms >= segmenter_->gap_due_ms()) segmenter_->tick(ms);
        latest_ms_ = monotonic_ms_ + to;
    }
    // A frame of that time which comes at that time of the clock, and so on until `end`.
    void flow_late(int64_t dts, int64_t at_ms, int64_t end) {
        monotonic_ms_ += at_ms - dts;
        flow(dts, end, 2'000, false);
    }
    std::vector<bool> gaps(size_t segment) const {
        std::vector<bool> out;
        for (const Part& part : segments_[segment].parts) out.push_back(part.gap);
        return out;
    }
    std::vector<int64_t> durations() const {
        std::vector<int64_t> out;
        for (const Written& segment : segments_)
            out.push_back(segment.closing ? media::to_ms(segment.closing->duration) : -1);
        return out;
    }
    std::vector<bool> discontinuities() const {
        std::vector<bool> out;
        for (const Written& segment : segments_) out.push_back(segment.discontinuity);
        return out;
    }
    // Those of a segment follow each other, and are together as long as it.
    std::vector<int64_t> parts(size_t segment) const {
        std::vector<int64_t> out;
        media::Time end = segments_[segment].frames.front().dts;
        for (const Part& part : segments_[segment].parts) {
            EXPECT_EQ(part.start, end);
            EXPECT_LE(part.duration, segmenter_->part_target());
            end = part.start + part.duration;
            out.push_back(media::to_ms(part.duration));
        }
        EXPECT_EQ(end - segments_[segment].frames.front().dts, segments_[segment].closing->duration);
        return out;
    }
    // Every frame that was fed is in exactly one segment, in its track's order.
    void expect_all() const {
        for (Kind kind : {Kind::kVideo, Kind::kAudio}) {
            std::vector<std::string> want, got;
            for (const Frame& frame : fed_)
                if (frame.kind == kind) want.emplace_back(frame.payload.text());
            for (const Written& segment : segments_)
                for (const Frame& frame : segment.frames)
                    if (frame.kind == kind) got.emplace_back(frame.payload.text());
            EXPECT_EQ(want, got);
        }
    }
    void expect_keyframes() const {
        for (size_t i = 0; i < segments_.size(); ++i) {
            EXPECT_TRUE(segments_[i].begins_with_keyframe()) << "segment " << i;
            ASSERT_TRUE(segments_[i].closing) << "segment " << i;
        }
    }

    std::unique_ptr<Segmenter> segmenter_;
    base::Ref<media::TrackSet> tracks_ = base::make_ref<media::TrackSet>();
    std::vector<Written> segments_;
    std::vector<Frame> fed_;
    bool open_ = false;
    bool discontinuity_ = false;  // of the next frame
    std::optional<int64_t> lose_at_;
    int64_t monotonic_ms_ = 1'000'000;
    int64_t latest_ms_ = 0;
    int64_t wall_ms_ = 1'700'000'000'000;
};

using Durations = std::vector<int64_t>;
using Flags = std::vector<bool>;

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

// The published times of a rate, in whole milliseconds.
int64_t frame_ms(int64_t number, double rate) { return static_cast<int64_t>(static_cast<double>(number) * 1e3 / rate); }

TEST_F(SegmenterTest, PartsAreWholeFramesOfAboutTheirLength) {
    struct Row {
        double rate;
        int64_t target_ms;
        int64_t part_ms;
    };
    for (const Row& row :
         {Row{30, 360, 333}, Row{30'000.0 / 1001, 360, 334}, Row{25, 346, 320}, Row{24, 360, 333}, Row{50, 368, 360},
          Row{60, 360, 350}, Row{15, 360, 333}, Row{12, 360, 333}, Row{10, 324, 300}, Row{5, 432, 400}}) {
        SCOPED_TRACE(row.rate);
        segments_.clear();
        fed_.clear();
        use({.fragment_ms = 4'000, .part_ms = 333});
        begin();
        headers();
        const auto gop = static_cast<int64_t>(row.rate * 4 + 0.5);
        for (int64_t i = 0; i < 3 * gop; ++i) {
            video(frame_ms(i, row.rate), i % gop == 0);
            audio(frame_ms(i, row.rate) + 7);
        }
        segmenter_->end();
        EXPECT_EQ(segmenter_->part_target(), media::from_ms(row.target_ms));
        ASSERT_EQ(segments_.size(), 3u);
        for (size_t segment = 0; segment < 3; ++segment) {
            const std::vector<int64_t> lengths = parts(segment);
            for (size_t i = 0; i + 1 < lengths.size(); ++i) {
                EXPECT_NEAR(static_cast<double>(lengths[i]), static_cast<double>(row.part_ms), 2) << i;
                EXPECT_GE(static_cast<double>(lengths[i]), 0.85 * static_cast<double>(row.target_ms)) << i;
                EXPECT_EQ(segments_[segment].parts[i].independent, i == 0);
                EXPECT_FALSE(segments_[segment].parts[i].gap);
            }
        }
        expect_all();
    }
}

TEST_F(SegmenterTest, PartsOfAudio) {
    use({.fragment_ms = 2'000, .aof_ratio = 1, .part_ms = 333});
    begin();
    header(Kind::kAudio);
    for (int64_t i = 0; i < 188; ++i) audio(i * 1'024'000 / 48'000);
    segmenter_->end();
    EXPECT_EQ(segmenter_->part_target(), media::from_ms(368));
    ASSERT_EQ(segments_.size(), 2u);
    EXPECT_EQ(parts(0), (Durations{362, 363, 363, 362, 363, 192}));
    for (const Part& part : segments_[0].parts) EXPECT_TRUE(part.independent);
    expect_all();
}

TEST_F(SegmenterTest, AFrameRateThatFallsKeepsThePartTarget) {
    use({.fragment_ms = 4'000, .part_ms = 333});
    begin();
    headers();
    flow(0, 4'000, 4'000);
    for (int64_t dts = 4'000; dts < 8'000; dts += 100) video(dts, dts == 4'000);
    for (int64_t dts = 8'000; dts < 12'000; dts += 500) video(dts, dts == 8'000);
    segmenter_->end();
    EXPECT_EQ(segmenter_->part_target(), media::from_ms(346));
    ASSERT_EQ(segments_.size(), 3u);
    EXPECT_EQ(parts(0)[0], 320);
    EXPECT_EQ(parts(1)[0], 300);
    // A frame lasts longer than a part: the rest of it is in the next one, and at last a part has no frame.
    EXPECT_EQ(parts(2)[0], 346);
    EXPECT_TRUE(std::ranges::any_of(segments_[2].parts, &Part::gap));
    expect_all();
}

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

TEST_F(SegmenterTest, AudioAheadOfTheVideoEndsNoPart) {
    use({.fragment_ms = 2'000, .part_ms = 333});
    begin();
    headers();
    for (int64_t dts = 0; dts < 4'000; dts += 40) {
        audio(dts + 300), audio(dts + 320);
        video(dts, dts % 2'000 == 0);
    }
    segmenter_->end();
    ASSERT_EQ(segments_.size(), 2u);
    EXPECT_EQ(segments_[0].parts.size(), 7u);
    EXPECT_EQ(parts(1), (Durations{320, 320, 320, 320, 320, 320, 80}));
    expect_all();
}

TEST_F(SegmenterTest, ThePartTargetIsChosenOnce) {
    use({.fragment_ms = 2'000, .part_ms = 333});
    begin();
    headers();
    flow(0, 2'000, 2'000);
    segmenter_->end();
    const media::Time target = segmenter_->part_target();
    const auto publish = [&] {
        begin();
        headers();
        for (int64_t i = 0; i < 60; ++i) video(10'000 + frame_ms(i, 30), i == 0);
        segmenter_->end();
    };
    publish();
    EXPECT_EQ(segmenter_->part_target(), target);
    segmenter_->forget_part_target();
    publish();
    EXPECT_EQ(segmenter_->part_target(), media::from_ms(360));
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

// Parts of segments.

#include "convert/segments/segmenter_testing.h"

namespace convert {
namespace {

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

}  // namespace
}  // namespace convert

#include "convert/segments/segment_timeline.h"

#include <gtest/gtest.h>

#include <vector>

#include "convert/segments/segment_timeline_testing.h"

namespace convert {
namespace {

Segment of_ms(int64_t ms, bool discontinuity = false) {
    return {.duration = media::from_ms(ms), .discontinuity = discontinuity};
}

// The numbers that playlists name.
std::vector<uint64_t> listed(const SegmentTimeline& timeline) {
    std::vector<uint64_t> out;
    for (auto id = timeline.listed(); id < timeline.end(); ++id) out.push_back(timeline.sequence(id));
    return out;
}

using Numbers = std::vector<uint64_t>;

TEST(SegmentTimelineTest, KeepsItsLengthAndThreeSegmentsAtLeast) {
    SegmentTimeline timeline({6'000, 2'000});
    for (int i = 0; i < 5; ++i) add(timeline, of_ms(2'000), 0);
    EXPECT_EQ(listed(timeline), (Numbers{2, 3, 4}));
    EXPECT_EQ(timeline.sequence(timeline.end()), 5u);
    add(timeline, of_ms(1'000), 0);
    EXPECT_EQ(listed(timeline), (Numbers{2, 3, 4, 5})) << "three times the target duration";
    for (int i = 6; i < 20; ++i) add(timeline, of_ms(1'000), 0);
    EXPECT_EQ(listed(timeline), (Numbers{14, 15, 16, 17, 18, 19}));
}

// Timestamps that stand still give segments of duration 0, which would never leave.
TEST(SegmentTimelineTest, SegmentsLeaveByTheClockToo) {
    SegmentTimeline timeline({6'000, 2'000});
    for (int i = 0; i < 10; ++i) add(timeline, of_ms(1), 1 + i * 10'000);
    EXPECT_EQ(listed(timeline), (Numbers{3, 4, 5, 6, 7, 8, 9}));
}

TEST(SegmentTimelineTest, SegmentsAreLimitedInNumber) {
    SegmentTimeline timeline({6'000, 2'000, 5});
    for (int i = 0; i < 20; ++i) add(timeline, of_ms(1), 1);
    EXPECT_EQ(listed(timeline), (Numbers{15, 16, 17, 18, 19}));
    EXPECT_EQ(timeline.sequence(timeline.kept()), 0u);
    timeline.expire(1);
    EXPECT_EQ(timeline.sequence(timeline.kept()), 10u);
    EXPECT_EQ(listed(timeline).size(), 5u);
}

TEST(SegmentTimelineTest, WhatHasLeftStaysForAWindowOfItsOwn) {
    SegmentTimeline timeline({.window_ms = 6'000, .target_ms = 2'000, .kept_ms = 60'000, .kept_segments = 8});
    for (int i = 0; i < 12; ++i) add(timeline, of_ms(2'000), i * 2'000);
    EXPECT_EQ(listed(timeline), (Numbers{9, 10, 11}));
    timeline.expire(60'000);
    EXPECT_EQ(timeline.sequence(timeline.kept()), 0u) << "for that time";
    timeline.expire(200'000);
    EXPECT_EQ(timeline.sequence(timeline.kept()), 4u) << "so many stay";
    timeline.expire(200'000, true);
    EXPECT_EQ(timeline.kept(), timeline.end());
}

TEST(SegmentTimelineTest, SegmentsWithoutADiscontinuityHaveOneClock) {
    SegmentTimeline timeline({6'000, 2'000});
    timeline.begin(true);
    const auto at = [](int64_t start_ms, int64_t date_ms, bool discontinuity) {
        Segment segment = of_ms(2'000, discontinuity);
        segment.start = media::from_ms(start_ms);
        segment.date_ms = date_ms;
        return segment;
    };
    const auto first = add(timeline, at(500, 100'000, false), 0);
    const auto second = add(timeline, at(2'500, 102'900, false), 0);
    const auto third = add(timeline, at(90'000, 103'000, true), 0);
    EXPECT_EQ(timeline.at(first).clock, (ClockPair{media::from_ms(500), 100'000}));
    EXPECT_EQ(timeline.at(second).clock, timeline.at(first).clock);
    EXPECT_EQ(timeline.at(third).clock, (ClockPair{media::from_ms(90'000), 104'000})) << "dates do not go back";
}

TEST(SegmentTimelineTest, TheTargetDurationIsChosenWithTheFirstSegmentAndStays) {
    SegmentTimeline timeline({6'000, 1'500});
    EXPECT_FALSE(timeline.longest());
    add(timeline, of_ms(4'003), 0);
    EXPECT_EQ(timeline.target_s(), 4) << "it is compared with rounded durations";
    EXPECT_EQ(timeline.longest(), media::from_ms(4'490));
    for (int i = 2; i < 20; ++i) add(timeline, of_ms(1'000), 0);
    timeline.begin(false);
    EXPECT_EQ(timeline.target_s(), 4);
    timeline.begin(true);
    add(timeline, of_ms(1'000), 0);
    EXPECT_EQ(timeline.target_s(), 2) << "as configured";
    timeline.begin(true);
    add(timeline, of_ms(3'000), 0);
    timeline.begin(true);
    add(timeline, of_ms(1'000), 0);
    EXPECT_EQ(timeline.target_s(), 3) << "one is still listed";
}

TEST(SegmentTimelineTest, TheTargetDurationOfLowLatencyIsThatOfTheConfiguration) {
    SegmentTimeline timeline({.target_ms = 2'000, .fixed = true});
    EXPECT_EQ(timeline.longest(), media::from_ms(2'490)) << "of the first segment too";
    timeline.open({});
    EXPECT_EQ(timeline.target_s(), 2);
}

TEST(SegmentTimelineTest, TheLongestTargetDurationOfAGroupIsThatOfAll) {
    SegmentTimeline timeline({.window_ms = 60'000, .target_ms = 2'000, .grows = true});
    EXPECT_FALSE(timeline.raise_target(9)) << "it is chosen with the first segment";
    add(timeline, of_ms(2'000), 0);
    EXPECT_TRUE(timeline.raise_target(5));
    EXPECT_EQ(timeline.target_s(), 5);
    EXPECT_FALSE(timeline.raise_target(5));
    EXPECT_FALSE(timeline.raise_target(4));
    EXPECT_EQ(timeline.target_s(), 5);
    SegmentTimeline fixed({.window_ms = 60'000, .target_ms = 2'000});
    add(fixed, of_ms(2'000), 0);
    EXPECT_FALSE(fixed.raise_target(5)) << "it does not grow";
}

TEST(SegmentTimelineTest, TheTargetDurationGrowsWhereASegmentWaitsForItsKeyframe) {
    SegmentTimeline timeline({.window_ms = 60'000, .target_ms = 2'000, .grows = true});
    for (const int64_t ms : {2'000, 4'600, 1'000}) {
        add(timeline, of_ms(ms), 0);
        EXPECT_FALSE(timeline.longest());
    }
    EXPECT_EQ(timeline.target_s(), 5);
}

TEST(SegmentTimelineTest, DatesAreInStepWithTheStreamsTimes) {
    SegmentTimeline timeline({60'000, 1'000});
    const auto date = [&](int64_t start_ms, int64_t wall_ms, bool discontinuity = false) {
        Segment segment = of_ms(1'000, discontinuity);
        segment.start = media::from_ms(start_ms);
        segment.date_ms = wall_ms;
        return timeline.at(add(timeline, segment, 0)).date_ms;
    };
    EXPECT_EQ(date(500, 1'000'000), 1'000'000);
    EXPECT_EQ(date(1'500, 1'000'700), 1'001'000) << "whenever it came";
    EXPECT_EQ(date(2'500, 7), 1'002'000) << "whatever the clock was set to";
    EXPECT_EQ(date(90'000, 1'009'000, true), 1'009'000);
    EXPECT_EQ(date(91'000, 1'009'000), 1'010'000);
    EXPECT_EQ(date(0, 1'005'000, true), 1'011'000) << "a date does not go back";
    timeline.begin(false);
    EXPECT_EQ(date(50'000, 1'030'000), 1'030'000) << "another publishing";
}

TEST(SegmentTimelineTest, TheOpenSegmentHasItsNumberDateAndPartsFromTheFirstMoment) {
    SegmentTimeline timeline({.window_ms = 6'000, .target_ms = 1'000, .first_part = 100});
    add(timeline, of_ms(1'000), 0);
    timeline.break_here();
    timeline.open({.start = media::from_ms(5'000), .date_ms = 7'000});
    const Segment* open = timeline.open_segment();
    ASSERT_NE(open, nullptr);
    EXPECT_EQ(timeline.sequence(timeline.end()), 1u);
    EXPECT_TRUE(open->discontinuity);
    EXPECT_EQ(open->date_ms, 7'000);
    EXPECT_EQ(timeline.end_part({open->start, media::from_ms(300), true}), 100u);
    EXPECT_EQ(timeline.end_part({media::from_ms(5'300), media::from_ms(300)}), 101u);
    EXPECT_EQ(open->parts.size(), 2u);
    EXPECT_EQ(listed(timeline), Numbers{0}) << "it is not complete";
    const auto id = timeline.close(media::from_ms(600), 0);
    EXPECT_EQ(timeline.sequence(id), 1u);
    EXPECT_EQ(timeline.open_segment(), nullptr);
    timeline.open({});
    EXPECT_EQ(timeline.open_segment()->first_part, 102u);
    EXPECT_EQ(timeline.next_part(), 102u);
}

TEST(SegmentTimelineTest, ASegmentThatIsGivenUpTakesNoNumber) {
    SegmentTimeline timeline({6'000, 1'000});
    timeline.open({.discontinuity = true});
    timeline.abandon();
    timeline.open({});
    EXPECT_TRUE(timeline.open_segment()->discontinuity) << "something is missing";
    EXPECT_EQ(timeline.sequence(timeline.close(media::from_ms(1'000), 0)), 0u);
}

TEST(SegmentTimelineTest, PartsAreKeptForSixTargetDurations) {
    SegmentTimeline timeline({60'000, 2'000});
    for (int i = 0; i < 10; ++i) {
        timeline.open({.start = media::from_ms(i * 2'000)});
        for (int part = 0; part < 4; ++part)
            timeline.end_part({media::from_ms(i * 2'000 + part * 500), media::from_ms(500), part == 0});
        timeline.close(media::from_ms(2'000), 0);
    }
    std::vector<size_t> counts;
    for (auto id = timeline.listed(); id < timeline.end(); ++id) counts.push_back(timeline.at(id).parts.size());
    // The fourth one ends 12 s before the end.
    EXPECT_EQ(counts, (std::vector<size_t>{0, 0, 0, 4, 4, 4, 4, 4, 4, 4}));
    EXPECT_EQ(timeline.parts_kept(), 12u);
    timeline.expire(0, true);
    EXPECT_EQ(timeline.parts_kept(), 40u);
    EXPECT_EQ(timeline.next_part(), 40u);
}

TEST(SegmentTimelineTest, CountsDiscontinuitiesThatLeft) {
    SegmentTimeline timeline({3'000, 1'000});
    for (int i = 0; i < 6; ++i) add(timeline, of_ms(1'000, i % 2 == 1), 0);
    const auto first = timeline.listed();
    EXPECT_EQ(timeline.sequence(first), 3u);
    EXPECT_EQ(timeline.discontinuities(first), 1u);
    EXPECT_EQ(timeline.discontinuities(first + 1), 2u);
    timeline.expire(1'000'000);
    EXPECT_EQ(timeline.discontinuities(first), 1u) << "forgotten segments count";
    EXPECT_EQ(timeline.discontinuities(timeline.end()), 3u);
}

TEST(SegmentTimelineTest, WhatLeftStaysAsLongAsItMayBePlayed) {
    SegmentTimeline timeline({3'000, 1'000});
    for (int i = 0; i < 4; ++i) add(timeline, of_ms(1'000), 1'000 * i);
    // "0" left at 3 s, from a playlist of 4 s.
    timeline.expire(7'999);
    EXPECT_EQ(timeline.sequence(timeline.kept()), 0u);
    timeline.expire(8'000);
    EXPECT_EQ(timeline.sequence(timeline.kept()), 1u);
    timeline.expire(8'000, true);
    EXPECT_TRUE(timeline.empty());
    EXPECT_EQ(timeline.sequence(add(timeline, of_ms(1'000), 0)), 4u);
}

TEST(SegmentTimelineTest, GoesOnFromAnotherProcess) {
    const auto recovered = [](bool breaks) {
        SegmentTimeline timeline({60'000, 1'000});
        LeftTimeline left{7, 0, 1, true, {of_ms(1'000)}};
        left.segments.back().date_ms = 50'000;
        left.continuation = Continuation{.start = media::from_ms(3'580),
                                         .clock = {media::from_ms(3'580), 51'000},
                                         .first_part = 41,
                                         .breaks = breaks};
        timeline.recover(left);
        timeline.begin(false);
        timeline.open({.start = media::from_ms(3'580), .date_ms = 52'500});
        return timeline;
    };
    SegmentTimeline timeline = recovered(false);
    EXPECT_EQ(timeline.position().sequence, 8u);
    EXPECT_FALSE(timeline.open_segment()->discontinuity);
    EXPECT_EQ(timeline.open_segment()->date_ms, 51'000) << "its frames came later than they play";
    EXPECT_EQ(timeline.open_segment()->first_part, 41u);
    timeline.close(media::from_ms(1'000), 0);
    timeline.begin(false);
    timeline.open({.start = media::from_ms(9'000), .date_ms = 60'000});
    EXPECT_EQ(timeline.open_segment()->date_ms, 60'000) << "of another publishing";
    EXPECT_TRUE(recovered(true).open_segment()->discontinuity);
}

TEST(SegmentTimelineTest, WhatItLeavesGoesOnElsewhere) {
    SegmentTimeline before({4'000, 1'000});
    before.skip_to(7);
    before.begin(true);
    before.set_part_target(media::from_ms(500));
    for (int i = 0; i < 6; ++i) {
        before.open({.start = media::from_ms(i * 1'000), .date_ms = 50'000 + i * 1'000, .discontinuity = i == 1});
        for (int part = 0; part < 2; ++part)
            before.end_part({media::from_ms(i * 1'000 + part * 500), media::from_ms(500), part == 0});
        before.close(media::from_ms(1'000), 1);
    }
    const uint64_t next_part = before.next_part();
    before.open({.start = media::from_ms(6'000)});
    before.end_part({media::from_ms(6'000), media::from_ms(500), true});
    LeftTimeline left = before.left_before(before.end());
    left.continuation = Continuation{.start = media::from_ms(6'000),
                                     .clock = before.open_segment()->clock,
                                     .first_part = next_part,
                                     .parts_end = next_part + 1};
    SegmentTimeline after({4'000, 1'000});
    after.recover(left, 1);
    after.begin(false);
    EXPECT_EQ(listed(after), listed(before));
    EXPECT_EQ(after.sequence(after.kept()), 7u) << "what has left the playlist is there";
    EXPECT_EQ(after.discontinuities(after.listed()), before.discontinuities(before.listed()));
    EXPECT_EQ(after.parts_kept(), before.parts_kept());
    EXPECT_EQ(after.at(after.end() - 1).parts.size(), 2u);
    EXPECT_EQ(after.part_target(), media::Time(0)) << "whoever cuts says so";
    after.open({.start = media::from_ms(6'000)});
    EXPECT_FALSE(after.open_segment()->discontinuity);
    EXPECT_EQ(after.open_segment()->date_ms, before.open_segment()->date_ms);
    EXPECT_EQ(after.open_segment()->clock, before.open_segment()->clock);
    EXPECT_EQ(after.next_part(), next_part);
    after.abandon();
    after.break_off(10);
    after.open({.start = media::from_ms(9'000)});
    EXPECT_TRUE(after.open_segment()->discontinuity);
    EXPECT_EQ(after.open_segment()->first_part, next_part + 10);
    EXPECT_EQ(before.left_before(before.kept()).segments.size(), 0u);
}

TEST(SegmentTimelineTest, GoesOnBehindAnEarlierRun) {
    SegmentTimeline timeline({60'000, 1'000});
    timeline.recover({7, 2, 4, true, {of_ms(3'000), of_ms(1'000, true)}});
    EXPECT_EQ(listed(timeline), (Numbers{7, 8}));
    EXPECT_EQ(timeline.target_s(), 4) << "as it was";
    EXPECT_EQ(timeline.id_of(8), timeline.listed() + 1);
    timeline.skip_to(50);
    const auto next = add(timeline, of_ms(1'000), 0);
    EXPECT_EQ(timeline.sequence(next), 9u);
    EXPECT_EQ(timeline.at(next).discontinuity, true) << "it is of another run";
    EXPECT_EQ(timeline.discontinuities(timeline.listed()), 2u);
    EXPECT_EQ(timeline.discontinuities(timeline.end()), 4u);
}

TEST(SegmentTimelineTest, AnEarlierRunMayHaveHadSegmentsWithoutKeyframes) {
    SegmentTimeline timeline({60'000, 1'000});
    timeline.recover({7, 0, 1, false, {of_ms(1'000)}});
    EXPECT_FALSE(timeline.independent()) << "its playlist does not say so";
    EXPECT_TRUE(timeline.at(add(timeline, of_ms(1'000), 0)).discontinuity);
    EXPECT_FALSE(timeline.at(add(timeline, of_ms(1'000), 0)).discontinuity);
}

TEST(SegmentTimelineTest, BeginsWithTheNumberThatItIsTold) {
    SegmentTimeline timeline({60'000, 1'000});
    timeline.skip_to(5);
    timeline.break_here();
    const auto id = add(timeline, of_ms(1'000), 0);
    EXPECT_EQ(timeline.sequence(id), 5u);
    EXPECT_TRUE(timeline.at(id).discontinuity);
}

// Of a stream that joins a group (variant_clock.h).
TEST(SegmentTimelineTest, AnotherListBeginsWithTheOpenSegment) {
    SegmentTimeline timeline({60'000, 2'000});
    for (int i = 0; i < 3; ++i) add(timeline, of_ms(2'000), 0);
    timeline.begin(false);
    timeline.open({.start = media::from_ms(70'000), .date_ms = 90'000, .discontinuity = true});
    EXPECT_EQ(timeline.position().sequence, 3u);
    EXPECT_EQ(timeline.position().discontinuities, 1u);
    timeline.continue_at({100, 7, 4, 91'000}, 1'000);
    const ListPosition position = timeline.position();
    EXPECT_EQ(position.sequence, 100u);
    EXPECT_EQ(position.discontinuities, 7u);
    EXPECT_EQ(position.target_s, 4);
    EXPECT_EQ(position.date_ms, 91'000);
    EXPECT_TRUE(listed(timeline).empty()) << "what was there has left";
    timeline.close(media::from_ms(2'000), 1'000);
    add(timeline, {.start = media::from_ms(72'000), .duration = media::from_ms(2'000)}, 3'000);
    EXPECT_EQ(listed(timeline), (Numbers{100, 101}));
    EXPECT_EQ(timeline.at(timeline.end() - 1).date_ms, 93'000);
    EXPECT_EQ(timeline.discontinuities(timeline.listed()), 7u);
    EXPECT_EQ(timeline.sequence(timeline.kept()), 0u) << "those before keep their numbers";
    timeline.expire(60'000);
    EXPECT_EQ(timeline.kept(), timeline.listed());
    EXPECT_EQ(timeline.discontinuities(timeline.listed()), 7u);
    // Once more.
    timeline.open({});
    timeline.continue_at({200, 7, 0, 0}, 60'000);
    timeline.close(media::from_ms(2'000), 60'000);
    EXPECT_EQ(listed(timeline), (Numbers{200}));
}

TEST(SegmentTimelineTest, AListThatGoesOnToThatPositionStays) {
    SegmentTimeline timeline({60'000, 2'000});
    for (int i = 0; i < 3; ++i) add(timeline, of_ms(2'000), 0);
    timeline.open(of_ms(0, true));
    timeline.continue_at({3, 1, 2, 0}, 1'000);
    timeline.close(media::from_ms(2'000), 1'000);
    EXPECT_EQ(listed(timeline), (Numbers{0, 1, 2, 3}));
    EXPECT_TRUE(timeline.at(timeline.end() - 1).discontinuity);
    // Numbers do not go back.
    timeline.open(of_ms(0, true));
    timeline.continue_at({1, 1, 2, 0}, 1'000);
    timeline.close(media::from_ms(2'000), 1'000);
    EXPECT_EQ(listed(timeline), (Numbers{4}));
    EXPECT_EQ(timeline.discontinuities(timeline.end()), 1u);
}

}  // namespace
}  // namespace convert

#include "protocol/mpd/merge.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mpd {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr uint32_t kScale = 1'000;

// Segments of 2 s from that number on. at_s: the wall clock at the Period's start, where the stream's time is start_s;
// the first segment is so many segments behind it.
Period period(int64_t at_s, int64_t start_s, uint64_t number, size_t count, int64_t behind = 0) {
    Representation one;
    one.id = "video";
    one.codecs = "avc1.64001f";
    one.timescale = kScale;
    one.offset = start_s * kScale;
    one.start_number = number;
    for (size_t i = 0; i < count; ++i)
        one.segments.push_back({(start_s + 2 * (behind + static_cast<int64_t>(i))) * kScale, 2 * kScale});
    return {"p", at_s * kSecond, {{.video = true, .representations = {one}}}};
}

Merger::Member member(std::string name, std::vector<Period> periods) {
    Manifest manifest;
    manifest.update_ms = 2'000;
    manifest.periods = std::move(periods);
    return {std::move(name), std::move(manifest)};
}

// "a-video 5-7": the Representations of a Period, with their first and last numbers.
std::vector<std::string> numbers(const Period& period) {
    std::vector<std::string> out;
    for (const Track& track : period.tracks)
        for (const Representation& one : track.representations)
            out.push_back(one.id + " " + std::to_string(one.start_number) + "-" +
                          std::to_string(one.start_number + one.segments.size() - 1));
    return out;
}
using Numbers = std::vector<std::string>;

// The wall clock at which the first segment begins, s.
int64_t begins(const Period& period, const Representation& one) {
    return period.start_us / kSecond + (one.segments.front().time - one.offset) / kScale;
}

TEST(Merge, QualitiesOfOneProgrammeAreInOneSet) {
    Merger merger;
    const std::vector members{member("a", {period(100, 0, 5, 3)}), member("b", {period(100, 0, 5, 3)})};
    const Manifest all = merger.merge(members);
    ASSERT_EQ(all.periods.size(), 1u);
    EXPECT_EQ(all.periods[0].tracks.size(), 1u);
    EXPECT_EQ(numbers(all.periods[0]), (Numbers{"a-video 5-7", "b-video 5-7"}));
    EXPECT_EQ(all.periods[0].id, "p100000");
}

TEST(Merge, OtherCodecsAndLanguagesAreOtherSets) {
    Merger merger;
    Period hevc = period(100, 0, 5, 3), german = period(100, 0, 5, 3);
    hevc.tracks[0].representations[0].codecs = "hvc1.1";
    german.tracks[0].video = false;
    german.tracks[0].language = "de";
    const std::vector members{member("a", {period(100, 0, 5, 3)}), member("b", {hevc}), member("c", {german})};
    EXPECT_EQ(merger.merge(members).periods[0].tracks.size(), 3u);
}

TEST(Merge, WhoJoinsLaterIsInThePeriodThatHasBegun) {
    Merger merger;
    const std::vector members{member("a", {period(100, 0, 5, 6)}), member("b", {period(106, 6, 8, 3)})};
    const Manifest all = merger.merge(members);
    ASSERT_EQ(all.periods.size(), 1u);
    EXPECT_EQ(numbers(all.periods[0]), (Numbers{"a-video 5-10", "b-video 8-10"}));
    for (const Representation& one : all.periods[0].tracks[0].representations) EXPECT_EQ(one.offset, 0) << one.id;
    // The Period stays when that leaves which it came from.
    const Manifest alone = merger.merge(std::vector{member("b", {period(106, 6, 8, 5)})});
    ASSERT_EQ(alone.periods.size(), 1u);
    EXPECT_EQ(alone.periods[0].start_us, 100 * kSecond);
    EXPECT_EQ(begins(alone.periods[0], alone.periods[0].tracks[0].representations[0]), 106);
}

TEST(Merge, APeriodOfOneBeginsForAll) {
    Merger merger;
    // The times of "a" jump at 106; those of "b" go on.
    const std::vector members{member("a", {period(100, 0, 5, 3), period(106, 900, 8, 2)}),
                              member("b", {period(100, 0, 5, 5)})};
    const Manifest all = merger.merge(members);
    ASSERT_EQ(all.periods.size(), 2u);
    EXPECT_EQ(numbers(all.periods[0]), (Numbers{"a-video 5-7", "b-video 5-7"}));
    EXPECT_EQ(numbers(all.periods[1]), (Numbers{"a-video 8-9", "b-video 8-9"}));
    for (const Representation& one : all.periods[1].tracks[0].representations)
        EXPECT_EQ(begins(all.periods[1], one), 106) << one.id;
}

TEST(Merge, WhatReturnsWithinAPeriodBeginsAnewInIt) {
    Merger merger;
    const std::vector members{member("a", {period(100, 0, 5, 6)}),
                              member("b", {period(100, 0, 5, 1), period(108, 8, 9, 2)})};
    const Manifest all = merger.merge(members);
    ASSERT_EQ(all.periods.size(), 1u) << "its times go on";
    EXPECT_EQ(numbers(all.periods[0]), (Numbers{"a-video 5-10", "b-video 9-10"}));
    EXPECT_EQ(begins(all.periods[0], all.periods[0].tracks[0].representations[1]), 108);
}

TEST(Merge, PeriodsWithoutSegmentsGo) {
    Merger merger;
    const auto at = [&](uint64_t first, size_t count) {
        std::vector<Period> periods{period(106, 900, 8, 20)};
        if (count > 0) periods.insert(periods.begin(), period(100, 0, first, count));
        return merger.merge(std::vector{member("a", std::move(periods))}).periods.size();
    };
    EXPECT_EQ(at(5, 3), 2u);
    EXPECT_EQ(at(6, 2), 2u);
    EXPECT_EQ(at(0, 0), 1u);
    EXPECT_TRUE(merger.merge({}).periods.empty());
}

TEST(Merge, AnEndIsThatOfAll) {
    Merger merger;
    std::vector members{member("a", {period(100, 0, 5, 3)}), member("b", {period(100, 0, 5, 3)})};
    members[0].manifest.update_ms = 0;
    EXPECT_EQ(merger.merge(members).update_ms, 2'000);
    members[1].manifest.update_ms = 0;
    members[1].manifest.end_ms = 106'000;
    EXPECT_EQ(merger.merge(members).update_ms, 0);
    EXPECT_EQ(merger.merge(members).end_ms, 106'000);
}

TEST(Merge, ThereIsAnEndToPeriods) {
    Merger merger;
    std::vector<Period> periods;
    for (int64_t i = 0; i < 500; ++i)
        periods.push_back(period(100 + 4 * i, i % 2 * 900, static_cast<uint64_t>(2 * i), 2));
    EXPECT_EQ(merger.merge(std::vector{member("a", periods)}).periods.size(), Merger::kMaxPeriods);
}

}  // namespace
}  // namespace mpd

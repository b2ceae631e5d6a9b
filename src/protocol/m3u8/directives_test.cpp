#include "protocol/m3u8/directives.h"

#include <gtest/gtest.h>

namespace m3u8 {
namespace {

base::Result<Directives> parse(std::string_view query) { return parse_directives(http::parse_query(query)); }

TEST(Directives, AreReadFromAnyPlaceInTheQuery) {
    const auto all = parse("hls_ctx=abc&_HLS_part=3&token=x&_HLS_msn=17&_HLS_skip=YES");
    ASSERT_TRUE(all);
    EXPECT_EQ(all->awaited, (PartPosition{17, 3}));
    EXPECT_TRUE(all->skip);
    EXPECT_EQ(parse("_HLS_msn=18446744073709551615")->awaited, (PartPosition{UINT64_MAX, 0}));
    EXPECT_TRUE(parse("_HLS_skip=v2")->skip);
    const auto none = parse("hls_ctx=abc");
    ASSERT_TRUE(none);
    EXPECT_FALSE(none->awaited);
    EXPECT_FALSE(none->skip);
}

TEST(Directives, MalformedOnesAreErrors) {
    const std::pair<std::string, const char*> cases[] = {
        {"_HLS_msn=abc", "_HLS_msn: 'abc' is no number"},
        {"_HLS_msn=", "_HLS_msn: '' is no number"},
        {"_HLS_msn", "_HLS_msn: '' is no number"},
        {"_HLS_msn=-1", "_HLS_msn: '-1' is no number"},
        {"_HLS_msn=+1", "_HLS_msn: ' 1' is no number"},
        {"_HLS_msn=1.0", "_HLS_msn: '1.0' is no number"},
        {"_HLS_msn=0x1", "_HLS_msn: '0x1' is no number"},
        {"_HLS_msn=18446744073709551616", "_HLS_msn: '18446744073709551616' is no number"},
        {"_HLS_msn=" + std::string(4'000, '9'), "_HLS_msn: '9999999999999999999999999999999999999999...' is no number"},
        {"_HLS_msn=1&_HLS_part=x", "_HLS_part: 'x' is no number"},
        {"_HLS_msn=1&_HLS_msn=2", "_HLS_msn is there twice"},
        {"_HLS_part=1", "_HLS_part without _HLS_msn"},
        {"_HLS_skip=NO", "_HLS_skip: 'NO' is neither YES nor v2"},
        {"_HLS_skip=yes", "_HLS_skip: 'yes' is neither YES nor v2"},
    };
    for (const auto& [query, error] : cases) {
        const auto parsed = parse(query);
        ASSERT_FALSE(parsed) << query;
        EXPECT_EQ(parsed.error().text(), error);
        EXPECT_EQ(parsed.error().code(), base::Code::kProtocol);
    }
}

// 6.2.5 of the draft.
TEST(Directives, UnknownOnesAreIgnored) {
    const auto parsed = parse("_HLS_unknown=%00&_HLS_MSN=x&_hls_msn=x&HLS_part=1");
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(parsed->awaited);
    EXPECT_FALSE(parsed->skip);
}

TEST(Directives, AreNoPartOfAQueryThatIsPassedOn) {
    EXPECT_EQ(without_directives("_HLS_msn=1&token=a%20b&_HLS_new=2&x&%5FHLS_part=3"), "token=a%20b&x");
    EXPECT_EQ(without_directives("_HLS_msn=1"), "");
    EXPECT_EQ(without_directives("a_HLS_msn=1&_HLS=2"), "a_HLS_msn=1&_HLS=2");
}

// Segment 9 is complete, with 6 parts, and 10 is open and has 2.
constexpr PlaylistEnd kOpen{.next = {10, 2}, .parts_before = 6, .max_segment_parts = 15};
// Segment 9 is complete, and nothing came behind it.
constexpr PlaylistEnd kBetween{.next = {10, 0}, .parts_before = 6, .max_segment_parts = 15};

// 6.2.5.2 of the draft: a playlist that has it, or something later, is answered at once.
TEST(Reloads, WhatIsThereIsAnswered) {
    for (const PartPosition& there : {PartPosition{10, 1}, {10, 0}, {9, 5}, {9, 0}, {8, 99}})
        EXPECT_EQ(decide(there, kOpen), Reload::kAnswer) << there.msn << " " << there.part;
    EXPECT_EQ(decide({9, 5}, kBetween), Reload::kAnswer);
}

// A player that slept for a minute gets the whole playlist.
TEST(Reloads, WhatHasLeftIsAnswered) {
    EXPECT_EQ(decide({0, 0}, kOpen), Reload::kAnswer);
    EXPECT_EQ(decide({1, UINT64_MAX}, kOpen), Reload::kAnswer);
}

TEST(Reloads, WhatComesNextIsWaitedFor) {
    for (const PartPosition& next : {PartPosition{10, 2}, {10, 3}, {11, 0}, {12, 0}})
        EXPECT_EQ(decide(next, kOpen), Reload::kWait) << next.msn << " " << next.part;
}

// A number alone waits for the segment's first part, as Safari needs it.
TEST(Reloads, ANumberAloneIsItsFirstPart) {
    EXPECT_EQ(parse("_HLS_msn=10")->awaited, (PartPosition{10, 0}));
    EXPECT_EQ(decide({10, 0}, kBetween), Reload::kWait);
    EXPECT_EQ(decide({10, 0}, kOpen), Reload::kAnswer);
}

// 6.2.5.2: "a part index greater than that of the final Partial Segment" is part 0 of the next segment.
TEST(Reloads, APartBehindTheLastOneIsTheFirstOfTheNextSegment) {
    EXPECT_EQ(decide({9, 6}, kBetween), Reload::kWait);
    EXPECT_EQ(decide({9, 15}, kBetween), Reload::kWait);
    EXPECT_EQ(decide({9, 6}, kOpen), Reload::kAnswer) << "10 has a part";
    // It was asked for while the segment was open, which then ended early.
    EXPECT_FALSE(kOpen.has({10, 5}));
    EXPECT_FALSE((PlaylistEnd{.next = {11, 0}, .parts_before = 4}).has({10, 5}));
    EXPECT_TRUE((PlaylistEnd{.next = {11, 1}, .parts_before = 4}).has({10, 5}));
    EXPECT_TRUE((PlaylistEnd{.next = {12, 0}, .parts_before = 4}).has({10, 5}));
}

// It has no parts if an earlier run of the server has made it.
TEST(Reloads, ASegmentWithoutPartsIsThere) {
    const PlaylistEnd end{.next = {10, 0}, .max_segment_parts = 15};
    EXPECT_EQ(decide({9, 0}, end), Reload::kAnswer);
    EXPECT_EQ(decide({9, 1}, end), Reload::kWait);
}

// 6.2.5.2: 400 for a number over that of the last segment and 2.
TEST(Reloads, ANumberFarAheadIsRefused) {
    EXPECT_EQ(decide({12, 0}, kOpen), Reload::kWait) << "the last segment is 10, the open one";
    EXPECT_EQ(decide({13, 0}, kOpen), Reload::kRefuse);
    EXPECT_EQ(decide({11, 0}, kBetween), Reload::kWait) << "the last segment is 9";
    EXPECT_EQ(decide({12, 0}, kBetween), Reload::kRefuse);
    EXPECT_EQ(decide({UINT64_MAX, 0}, kOpen), Reload::kRefuse);
    EXPECT_EQ(decide({uint64_t{1} << 63, 0}, kBetween), Reload::kRefuse);
}

// hls.js without low latency asks for the last part of the open segment or of the next one.
TEST(Reloads, AFarPartIsRefusedOnlyIfNoSegmentCanHaveIt) {
    EXPECT_EQ(decide({10, 15}, kOpen), Reload::kWait);
    EXPECT_EQ(decide({11, 15}, kOpen), Reload::kWait);
    EXPECT_EQ(decide({10, 16}, kOpen), Reload::kRefuse);
    EXPECT_EQ(decide({9, 16}, kBetween), Reload::kRefuse);
    EXPECT_EQ(decide({10, UINT64_MAX}, kOpen), Reload::kRefuse);
    EXPECT_EQ(max_parts(6'000'000, 333'000), 19u + 10u) << "hls.js asks for the 18th";
    EXPECT_EQ(max_parts(4'000'000, 1'000'000), 4u + 3u);
    EXPECT_EQ(max_parts(2'000'000, 1'500'000), 2u + 3u);
}

// After EXT-X-ENDLIST directives are ignored.
TEST(Reloads, APlaylistThatHasEndedIsAnswered) {
    PlaylistEnd ended = kOpen;
    ended.ended = true;
    for (const PartPosition& any : {PartPosition{10, 2}, {10, UINT64_MAX}, {UINT64_MAX, 0}})
        EXPECT_EQ(decide(any, ended), Reload::kAnswer);
}

TEST(Reloads, TheFirstSegmentOfAStream) {
    const PlaylistEnd nothing{.next = {0, 0}, .max_segment_parts = 9};
    EXPECT_EQ(decide({0, 0}, nothing), Reload::kWait);
    EXPECT_EQ(decide({1, 0}, nothing), Reload::kWait);
    EXPECT_EQ(decide({2, 0}, nothing), Reload::kRefuse);
}

}  // namespace
}  // namespace m3u8

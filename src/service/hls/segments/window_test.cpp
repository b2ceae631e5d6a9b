#include "service/hls/segments/window.h"

#include <gtest/gtest.h>

namespace service::hls {
namespace {

Entry entry(const std::string& name, int64_t ms, bool discontinuity = false) {
    Entry out;
    out.item = {name, ms, discontinuity, {}, {}};
    out.path = "live/" + name;
    out.bytes = 10;
    return out;
}

std::vector<std::string> uris(const Window& window) {
    std::vector<std::string> out;
    for (const auto& segment : window.playlist().segments) out.push_back(segment.uri);
    return out;
}

using Paths = std::vector<std::string>;

TEST(Window, KeepsItsLengthAndThreeSegmentsAtLeast) {
    Window window({6'000, 2'000});
    for (int i = 0; i < 5; ++i) window.add(entry(std::to_string(i), 2'000), 0);
    EXPECT_EQ(uris(window), (Paths{"2", "3", "4"}));
    EXPECT_EQ(window.playlist().media_sequence, 2u);
    EXPECT_EQ(window.next_sequence(), 5u);
    window.add(entry("5", 20'000), 0);
    EXPECT_EQ(uris(window), (Paths{"3", "4", "5"}));
    for (int i = 6; i < 12; ++i) window.add(entry(std::to_string(i), 500), 0);
    EXPECT_EQ(uris(window), (Paths{"6", "7", "8", "9", "10", "11"}));
}

// Timestamps that stand still give segments of duration 0, which would never leave.
TEST(Window, SegmentsLeaveByTheClockToo) {
    Window window({6'000, 2'000});
    for (int i = 0; i < 10; ++i) window.add(entry(std::to_string(i), 1), 1 + i * 10'000);
    EXPECT_EQ(uris(window), (Paths{"3", "4", "5", "6", "7", "8", "9"}));
}

TEST(Window, SegmentsAreLimitedInNumber) {
    Window window({6'000, 2'000, 5});
    for (int i = 0; i < 20; ++i) window.add(entry(std::to_string(i), 1), 1);
    EXPECT_EQ(uris(window), (Paths{"15", "16", "17", "18", "19"}));
    EXPECT_EQ(window.first_sequence(), 15u);
    EXPECT_EQ(window.left_entries(), 15u);
    EXPECT_EQ(window.take_expired(1).size(), 10u);
    EXPECT_EQ(window.left_entries(), 5u);
}

TEST(Window, TheTargetDurationIsNoShorterThanAnySegmentAndDoesNotShrink) {
    Window window({6'000, 1'500});
    window.add(entry("0", 1'000), 0);
    EXPECT_EQ(window.playlist().target_duration_s, 2);
    window.add(entry("1", 4'001), 0);
    EXPECT_EQ(window.playlist().target_duration_s, 5);
    for (int i = 2; i < 9; ++i) window.add(entry(std::to_string(i), 1'000), 0);
    EXPECT_EQ(window.playlist().target_duration_s, 5);
    window.begin();
    EXPECT_EQ(window.playlist().target_duration_s, 2);
}

TEST(Window, CountsDiscontinuitiesThatLeft) {
    Window window({3'000, 1'000});
    for (int i = 0; i < 6; ++i) window.add(entry(std::to_string(i), 1'000, i % 2 == 1), 0);
    EXPECT_EQ(window.playlist().discontinuity_sequence, 1u);
    window.drop(1);
    EXPECT_EQ(window.playlist().discontinuity_sequence, 2u);
    EXPECT_EQ(window.playlist().media_sequence, 4u);
    EXPECT_EQ(window.next_sequence(), 6u);
}

TEST(Window, WhatLeftStaysAsLongAsItMayBePlayed) {
    Window window({3'000, 1'000});
    for (int i = 0; i < 4; ++i) window.add(entry(std::to_string(i), 1'000), 1'000 * i);
    EXPECT_TRUE(window.has("live/0"));
    // "0" left at 3 s, from a playlist of 4 s.
    EXPECT_EQ(window.take_expired(7'999), Paths{});
    EXPECT_EQ(window.take_expired(8'000), Paths{"live/0"});
    EXPECT_FALSE(window.has("live/0"));
    EXPECT_EQ(window.bytes(), 30u);
    EXPECT_EQ(window.take_expired(8'000, true), (Paths{"live/1", "live/2", "live/3"}));
    EXPECT_EQ(window.next_sequence(), 4u);
}

TEST(Window, KeysAndMapsGoWithTheLastSegmentThatNeedsThem) {
    Window window({1'000, 1'000});
    for (int i = 0; i < 5; ++i) {
        Entry one = entry(std::to_string(i), 1'000);
        one.key_path = i < 2 ? "a.key" : "b.key";
        one.map_path = "init.mp4";
        window.add(std::move(one), 0);
    }
    EXPECT_EQ(window.take_expired(1'000'000), (Paths{"live/0", "live/1", "a.key"}));
    EXPECT_EQ(window.take_expired(0, true), (Paths{"live/2", "live/3", "live/4", "b.key", "init.mp4"}));
}

TEST(Window, FollowsAnother) {
    Window main({3'000, 1'000}), audio({3'000, 1'000});
    for (int i = 0; i < 5; ++i) main.add(entry(std::to_string(i), i == 0 ? 2'000 : 1'000, i % 2 == 1), 0);
    audio.move_to(main.next_sequence(), main.discontinuities(), main.longest_ms(), 0);
    EXPECT_EQ(audio.next_sequence(), 5u);
    main.add(entry("5", 1'000, true), 0);
    audio.add(entry("5", 1'000, true), 0);
    EXPECT_EQ(audio.discontinuities(), main.discontinuities());
    EXPECT_EQ(audio.target_s(), main.target_s());
    audio.move_to(6, 3, 2'000, 0);
    EXPECT_EQ(uris(audio), Paths{"5"}) << "it is there already";
    // One of its own was lost.
    audio.move_to(7, 3, 2'000, 1'000);
    EXPECT_EQ(uris(audio), Paths{});
    EXPECT_TRUE(audio.has("live/5")) << "players may still want it";
    EXPECT_EQ(audio.playlist().media_sequence, 7u);
    EXPECT_EQ(audio.playlist().discontinuity_sequence, 3u);
    for (const char* name : {"7", "8", "9"}) audio.add(entry(name, 1'000), 0);
    EXPECT_FALSE(audio.leave_before(7, 0));
    EXPECT_TRUE(audio.leave_before(9, 0));
    EXPECT_EQ(uris(audio), Paths{"9"});
}

TEST(Window, GoesOnWhereItWas) {
    Window window({60'000, 1'000});
    window.recover(7, 2, {entry("7", 3'000), entry("8", 1'000)});
    EXPECT_EQ(window.next_sequence(), 9u);
    EXPECT_EQ(window.target_s(), 3);
    window.add(entry("9", 1'000, true), 0);
    EXPECT_EQ(window.playlist().media_sequence, 7u);
    Window empty({60'000, 1'000});
    empty.skip_to(5);
    EXPECT_EQ(empty.next_sequence(), 5u);
    EXPECT_EQ(empty.playlist().segments.size(), 0u);
}

}  // namespace
}  // namespace service::hls

// A receiver's reports about what it received, and its retransmission requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "protocol/rtp/nack_tracker.h"
#include "protocol/rtp/reception_stats.h"

namespace rtp {
namespace {

constexpr int64_t kMs = 1000;

TEST(Ntp, ThereAndBack) {
    for (int64_t us : {int64_t{0}, int64_t{1}, int64_t{999'999}, int64_t{1'700'000'000'123'456}}) {
        EXPECT_NEAR(static_cast<double>(unix_us_of_ntp(ntp_of_unix_us(us)) - us), 0, 1) << us;
    }
    EXPECT_EQ(ntp_of_unix_us(0) >> 32, 2'208'988'800u);
    EXPECT_EQ(compact_ntp(0x1122334455667788), 0x33445566u);
    EXPECT_EQ(compact_of_us(1'500'000), 0x18000u);
    EXPECT_EQ(us_of_compact(0x8000), 500'000);
}

// The 32 bits of seconds wrap on 2036-02-07 at 06:28:16.
TEST(Ntp, TimesGoOnOverTheEndOfTheEra) {
    constexpr int64_t kEnd = 2'085'978'496'000'000;
    EXPECT_EQ(ntp_of_unix_us(kEnd) >> 32, 0u);
    EXPECT_EQ(ntp_of_unix_us(kEnd - 1'000'000) >> 32, 0xffffffffu);
    NtpUnwrapper clock;
    for (int64_t us = kEnd - 3'000'000; us < kEnd + 3'000'000; us += 499'999)
        ASSERT_NEAR(static_cast<double>(clock.us(ntp_of_unix_us(us)) - us), 0, 2) << us;
    // Back across the wrap, and up to 60 years either way.
    for (int64_t years : {-60, 0, 60}) {
        const int64_t us = kEnd + years * 365 * 86'400'000'000;
        ASSERT_NEAR(static_cast<double>(clock.us(ntp_of_unix_us(us)) - us), 0, 2) << years;
    }
    // A clock that starts after the wrap, or at any other time, keeps its differences.
    for (uint64_t first : {uint64_t{0}, uint64_t{5} << 32, UINT64_MAX, uint64_t{1} << 63}) {
        NtpUnwrapper other;
        const int64_t begin = other.us(first);
        EXPECT_EQ(other.us(first + (uint64_t{7} << 32)) - begin, 7'000'000);
        EXPECT_EQ(other.us(first - (uint64_t{7} << 32)) - begin, -7'000'000);
    }
}

TEST(Ntp, RoundTripsGoOnOverTheEndOfTheEra) {
    constexpr int64_t kEnd = 2'085'978'496'000'000;
    for (int64_t sent : {kEnd - 150'000, kEnd - 50'000, kEnd + 1'000'000}) {
        // Held for 100 ms, 40 ms in transit.
        const auto round_trip =
            round_trip_us(ntp_of_unix_us(sent + 140'000), compact_ntp(ntp_of_unix_us(sent)), compact_of_us(100'000));
        ASSERT_TRUE(round_trip);
        EXPECT_NEAR(static_cast<double>(*round_trip), 40'000, 40);
    }
}

// RFC 3550, 6.4.1, figure 2: report at 0xb710:8000, last SR 0xb705:2000, delay 0x0005:4000: 6.125 s.
TEST(Ntp, RoundTripOfTheSpecification) {
    EXPECT_EQ(round_trip_us(0x0000b71080000000, 0xb7052000, 0x00054000), 6'125'000);
    EXPECT_FALSE(round_trip_us(0x0000b71080000000, 0, 0x00054000)) << "no sender report yet";
    EXPECT_FALSE(round_trip_us(0x0000b71080000000, 0xb7052000, 0x7fffffff)) << "a delay longer than the elapsed time";
}

TEST(ReceptionStats, NothingLost) {
    ReceptionStats stats(7, 90'000);
    EXPECT_FALSE(stats.report(0));
    for (uint16_t i = 0; i < 100; ++i)
        EXPECT_TRUE(stats.on_packet(static_cast<uint16_t>(65'500 + i), i * 3000u, i * 33'333));
    auto block = stats.report(4'000'000);
    ASSERT_TRUE(block);
    EXPECT_EQ(block->ssrc, 7u);
    EXPECT_EQ(block->fraction_lost, 0);
    EXPECT_EQ(block->cumulative_lost, 0);
    EXPECT_EQ(block->highest_sequence, 65'599u) << "one wrap";
    EXPECT_EQ(block->last_sr, 0u);
    EXPECT_LE(block->jitter, 1u);
}

// 2^32 packets are 50 days at a thousand a second: the field wraps, the number of lost packets does not.
TEST(ReceptionStats, MorePacketsThanTheFieldCounts) {
    ReceptionStats stats(7, 90'000);
    const uint64_t packets = (uint64_t{1} << 32) + 200'000;
    uint64_t count = 0;
    // A jump of the sequence by less than 3,000 is accepted.
    for (; count < packets; count += 2500) stats.on_packet(static_cast<uint16_t>(count), 0, 0);
    const uint64_t last = count - 2500;
    auto block = stats.report(0);
    ASSERT_TRUE(block);
    EXPECT_EQ(block->highest_sequence, static_cast<uint32_t>(last));
    EXPECT_EQ(stats.lost(), static_cast<int64_t>(last + 1 - count / 2500));
    stats.on_packet(static_cast<uint16_t>(last + 1), 0, 0);
    EXPECT_EQ(stats.report(0)->fraction_lost, 0);
}

TEST(ReceptionStats, FractionIsOfTheIntervalAndTheSumIsNot) {
    ReceptionStats stats(7, 8000);
    for (uint16_t i = 0; i <= 100; ++i) {
        if (i % 4 != 1) stats.on_packet(i, 0, 0);
    }
    auto first = stats.report(0);
    EXPECT_EQ(first->cumulative_lost, 25);
    EXPECT_EQ(first->fraction_lost, 25 * 256 / 101);
    for (uint16_t i = 101; i <= 200; ++i) stats.on_packet(i, 0, 0);
    auto second = stats.report(0);
    EXPECT_EQ(second->fraction_lost, 0);
    EXPECT_EQ(second->cumulative_lost, 25);
    auto idle = stats.report(0);
    EXPECT_EQ(idle->fraction_lost, 0);
}

TEST(ReceptionStats, DuplicatesMakeTheLossNegative) {
    ReceptionStats stats(7, 8000);
    for (uint16_t i = 0; i < 10; ++i) {
        stats.on_packet(i, 0, 0);
        stats.on_packet(i, 0, 0);
    }
    auto block = stats.report(0);
    EXPECT_EQ(block->cumulative_lost, -10);
    EXPECT_EQ(block->fraction_lost, 0);
}

TEST(ReceptionStats, AStrayIsNotBelievedTwoInARowAre) {
    ReceptionStats stats(7, 8000);
    for (uint16_t i = 0; i < 10; ++i) stats.on_packet(i, 0, 0);
    EXPECT_FALSE(stats.on_packet(30'000, 0, 0));
    EXPECT_TRUE(stats.on_packet(10, 0, 0));
    EXPECT_EQ(stats.report(0)->highest_sequence, 10u);
    EXPECT_FALSE(stats.on_packet(40'000, 0, 0));
    EXPECT_TRUE(stats.on_packet(40'001, 0, 0));
    auto block = stats.report(0);
    EXPECT_EQ(block->highest_sequence, 40'001u);
    EXPECT_EQ(block->cumulative_lost, 0);
}

TEST(ReceptionStats, JitterIsThatOfTheTransit) {
    ReceptionStats even(7, 90'000), uneven(7, 90'000);
    for (uint16_t i = 0; i < 1000; ++i) {
        even.on_packet(i, i * 900u, i * 10 * kMs + 777);
        uneven.on_packet(i, i * 900u, i * 10 * kMs + (i % 2 ? 4 * kMs : 0));
    }
    EXPECT_EQ(even.report(0)->jitter, 0u);
    EXPECT_NEAR(uneven.report(0)->jitter, 360, 20) << "4 ms in units of 90 kHz between consecutive packets";
}

TEST(ReceptionStats, AJumpOfTimestampsIsNoJitter) {
    ReceptionStats stats(7, 90'000);
    stats.on_packet(1, 0, 0);
    stats.on_packet(2, 0x7fffff00, 10 * kMs);
    EXPECT_EQ(stats.report(0)->jitter, 0u);
}

TEST(ReceptionStats, TheLastSenderReportIsEchoed) {
    ReceptionStats stats(7, 90'000);
    stats.on_packet(1, 0, 0);
    stats.on_sender_report(0x1122334455667788, 1'000'000);
    auto block = stats.report(1'500'000);
    EXPECT_EQ(block->last_sr, 0x33445566u);
    EXPECT_EQ(block->delay_since_sr, 0x8000u);
}

std::vector<uint16_t> ask(NackTracker& tracker, int64_t now, int64_t round_trip = 0, size_t room = 100) {
    std::vector<uint16_t> out(room);
    auto due = tracker.due(now, round_trip, out);
    return {due.begin(), due.end()};
}

using Sequences = std::vector<uint16_t>;

TEST(NackTracker, AsksForHolesAndNotForWhatCame) {
    NackTracker tracker;
    EXPECT_TRUE(tracker.on_packet(65'533, 0));
    EXPECT_TRUE(tracker.on_packet(2, 0));
    EXPECT_EQ(ask(tracker, 0), Sequences({65'534, 65'535, 0, 1}));
    EXPECT_TRUE(tracker.on_packet(0, 1));
    EXPECT_TRUE(tracker.on_packet(65'534, 1));
    EXPECT_FALSE(tracker.on_packet(0, 1)) << "a duplicate";
    EXPECT_FALSE(tracker.on_packet(2, 1));
    EXPECT_EQ(ask(tracker, 200), Sequences({65'535, 1}));
    EXPECT_EQ(tracker.counters().lost, 4u);
    EXPECT_EQ(tracker.counters().recovered, 2u);
    EXPECT_EQ(tracker.counters().asked, 6u);
    EXPECT_FALSE(tracker.take_damage());
}

TEST(NackTracker, AsksAgainAfterARoundTripAndThenNoMore) {
    NackTracker tracker({.max_tries = 3});
    tracker.on_packet(1, 0);
    tracker.on_packet(3, 0);
    EXPECT_EQ(ask(tracker, 0, 50), Sequences({2}));
    EXPECT_EQ(ask(tracker, 49, 50), Sequences());
    EXPECT_EQ(ask(tracker, 50, 50), Sequences({2}));
    EXPECT_EQ(ask(tracker, 69, 5), Sequences()) << "not more often than min_interval_ms";
    EXPECT_EQ(ask(tracker, 70, 5), Sequences({2}));
    EXPECT_EQ(ask(tracker, 1999, 5), Sequences());
    EXPECT_FALSE(tracker.take_damage());
    EXPECT_EQ(ask(tracker, 2000, 5), Sequences());
    EXPECT_TRUE(tracker.take_damage());
    EXPECT_FALSE(tracker.take_damage());
    EXPECT_EQ(tracker.counters().given_up, 1u);
    EXPECT_FALSE(tracker.on_packet(2, 2001)) << "too late";
}

// A complete outage of one second must not make the tracker give packets up.
TEST(NackTracker, QuestionsAreLeftAfterAnOutage) {
    NackTracker tracker;
    tracker.on_packet(1, 0);
    tracker.on_packet(3, 0);
    std::vector<int64_t> asked;
    for (int64_t now = 0; now < 2000; now += 10)
        if (!ask(tracker, now, 5).empty()) asked.push_back(now);
    EXPECT_EQ(asked, (std::vector<int64_t>{0, 20, 40, 60, 80, 120, 200, 360, 680, 1320}));
}

TEST(NackTracker, TheRoundTripIsThatOfTheAnswers) {
    for (int64_t answer_ms : {30, 300}) {
        NackTracker tracker;
        EXPECT_EQ(tracker.round_trip_ms(), 100);
        // Every third packet is missing, and arrives this long after the first NACK for it.
        std::vector<std::pair<int64_t, uint16_t>> answers;
        uint16_t sequence = 0;
        size_t asked_of_last = 0;
        for (int64_t now = 0; now < 8000; now += 10, ++sequence) {
            if (sequence % 3 != 1) tracker.on_packet(sequence, now);
            for (uint16_t s : ask(tracker, now)) {
                if (std::ranges::find(answers, s, &std::pair<int64_t, uint16_t>::second) == answers.end()) {
                    answers.emplace_back(now + answer_ms, s);
                }
                asked_of_last += now >= 7000;
            }
            for (auto [at, s] : answers) {
                if (at == now) tracker.on_packet(s, now);
            }
        }
        EXPECT_NEAR(static_cast<double>(tracker.round_trip_ms()), static_cast<double>(answer_ms), 10);
        EXPECT_NEAR(static_cast<double>(asked_of_last), 33, 4) << "one NACK each, with answers after " << answer_ms;
    }
}

TEST(NackTracker, ReorderedPacketsAreGivenTime) {
    NackTracker tracker({.reorder_ms = 10});
    tracker.on_packet(1, 0);
    tracker.on_packet(3, 0);
    EXPECT_EQ(ask(tracker, 9), Sequences());
    tracker.on_packet(2, 9);
    EXPECT_EQ(ask(tracker, 20), Sequences());
    EXPECT_EQ(tracker.counters().recovered, 0u) << "it arrived without a NACK";
}

TEST(NackTracker, ASenderThatAnswersNothingIgnoresIt) {
    NackTracker tracker;
    tracker.on_packet(1, 0);
    tracker.on_packet(3, 0);
    ask(tracker, 0);
    EXPECT_FALSE(tracker.is_ignored(1000)) << "requested once";
    ask(tracker, 200);
    EXPECT_FALSE(tracker.is_ignored(599));
    EXPECT_TRUE(tracker.is_ignored(600));
    tracker.give_up();
    EXPECT_TRUE(tracker.take_damage());
    EXPECT_FALSE(tracker.is_ignored(700));
    tracker.on_packet(5, 700);
    EXPECT_TRUE(tracker.take_damage());
    EXPECT_EQ(ask(tracker, 800), Sequences());
    EXPECT_EQ(tracker.counters().given_up, 2u);

    NackTracker answered;
    answered.on_packet(1, 0);
    answered.on_packet(4, 0);
    ask(answered, 0);
    ask(answered, 200);
    answered.on_packet(3, 210);
    EXPECT_FALSE(answered.is_ignored(5000));
}

TEST(NackTracker, AHoleTooLargeIsDamageAndNoQuestion) {
    NackTracker tracker({.max_missing = 10});
    tracker.on_packet(0, 0);
    tracker.on_packet(11, 0);
    EXPECT_EQ(tracker.missing(), 10u);
    EXPECT_FALSE(tracker.take_damage());
    tracker.on_packet(13, 0);
    EXPECT_TRUE(tracker.take_damage());
    EXPECT_EQ(tracker.missing(), 0u);
    tracker.on_packet(15, 0);
    EXPECT_EQ(ask(tracker, 0), Sequences({14})) << "it continues with the next gap";
}

TEST(NackTracker, ASenderThatNumbersAnewIsFollowed) {
    NackTracker tracker;
    tracker.on_packet(30'000, 0);
    tracker.on_packet(30'002, 0);
    EXPECT_FALSE(tracker.on_packet(10, 0)) << "a stray";
    EXPECT_FALSE(tracker.on_packet(500, 0)) << "another packet far back";
    EXPECT_EQ(tracker.missing(), 1u);
    EXPECT_TRUE(tracker.on_packet(501, 0));
    EXPECT_TRUE(tracker.take_damage());
    EXPECT_TRUE(tracker.on_packet(504, 0));
    EXPECT_EQ(ask(tracker, 0), Sequences({502, 503}));
}

TEST(NackTracker, WhatFindsNoRoomHasTheNextTurn) {
    NackTracker tracker;
    tracker.on_packet(0, 0);
    tracker.on_packet(6, 0);
    EXPECT_EQ(ask(tracker, 0, 0, 3), Sequences({1, 2, 3}));
    EXPECT_EQ(ask(tracker, 0, 0, 3), Sequences({4, 5}));
}

}  // namespace
}  // namespace rtp

#include "net/sessions/usage_ledger.h"

#include <gtest/gtest.h>

namespace net {
namespace {

UsageKey key_of(int day, const std::string& name, const std::string& token = "") {
    return {day, {"v", "live", name}, token};
}

TEST(UsageLedger, HasARowForEachDayStreamAndToken) {
    UsageLedger ledger(100);
    for (const UsageKey& key : {key_of(20261129, "a"), key_of(20261129, "b"), key_of(20261130, "a"),
                                key_of(20261129, "a", "bob"), key_of(20261129, "a")})
        ledger.change(key).sent += 10;
    EXPECT_EQ(ledger.size(), 4u);
    EXPECT_EQ(ledger.find(key_of(20261129, "a"))->sent, 20u);
    EXPECT_EQ(ledger.find(key_of(20261129, "c")), nullptr);
    EXPECT_EQ(ledger.take_changes().size(), 4u);
    EXPECT_TRUE(ledger.take_changes().empty());
}

TEST(UsageLedger, WhatHasNoRoomIsCountedTogether) {
    UsageLedger ledger(6);
    for (int i = 0; i < 10; ++i) ledger.change(key_of(20261129, std::to_string(i))).sent += 1;
    EXPECT_EQ(ledger.size(), 4u);
    EXPECT_EQ(ledger.overflows(), 7u);
    const UsageKey other{20261129, {"", "", std::string(UsageLedger::kOther)}, ""};
    ASSERT_NE(ledger.find(other), nullptr);
    EXPECT_EQ(ledger.find(other)->sent, 7u);
    ledger.change(key_of(20261129, "1")).sent += 1;
    EXPECT_EQ(ledger.overflows(), 7u) << "a row that is there";
}

TEST(UsageLedger, ADayTakesHalfOfTheRowsThatAreLeft) {
    UsageLedger ledger(100);
    for (const int day : {20261127, 20261128, 20261129})
        for (int i = 0; i < 200; ++i) ledger.change(key_of(day, std::to_string(i)));
    const auto rows_of = [&](int day) {
        size_t rows = 0;
        for (int i = 0; i < 200; ++i) rows += ledger.find(key_of(day, std::to_string(i))) != nullptr;
        return rows;
    };
    EXPECT_EQ(rows_of(20261127), 50u);
    EXPECT_EQ(rows_of(20261128), 25u) << "50 less the row of the others";
    EXPECT_EQ(rows_of(20261129), 12u);
    ledger.forget_before(20261128);
    ledger.change(key_of(20261129, "199"));
    EXPECT_EQ(rows_of(20261129), 13u) << "there is room again";
}

TEST(UsageLedger, KnowsItsStreams) {
    UsageLedger ledger(100);
    ledger.change(key_of(20261129, "b", "acme"));
    EXPECT_TRUE(ledger.has_stream(20261129, {"v", "live", "b"}));
    EXPECT_FALSE(ledger.has_stream(20261128, {"v", "live", "b"}));
    EXPECT_FALSE(ledger.has_stream(20261129, {"v", "live", "a"}));
    EXPECT_FALSE(ledger.has_stream(20261129, {"v", "live", "c"}));
    ledger.change_other(20261129).sent += 1;
    EXPECT_EQ(ledger.overflows(), 0u);
    EXPECT_EQ(ledger.size(), 2u);
}

TEST(UsageLedger, ForgetsOldDays) {
    UsageLedger ledger(100);
    for (const int day : {20261127, 20261128, 20261129}) ledger.change(key_of(day, "a"));
    ledger.forget_before(20261128);
    EXPECT_EQ(ledger.size(), 2u);
    EXPECT_EQ(ledger.first()->first.day, 20261128);
    EXPECT_EQ(ledger.after(ledger.first()->first)->first.day, 20261129);
    EXPECT_EQ(ledger.after(key_of(20261129, "a")), nullptr);
    EXPECT_EQ(ledger.take_changes().size(), 2u);
}

TEST(UsageLedger, ARowComesBackFromItsLine) {
    UsageKey key{20261129, {"v", "a/b", "100%\t\n\x01 ü"}, "bob"};
    Usage usage{.sessions = 1,
                .received = 2,
                .sent = UINT64_MAX,
                .forwarded = 4,
                .watched_ms = 5,
                .published_ms = 6,
                .peak = 7};
    usage.viewers.add(42);
    const std::string line = usage_line(key, usage);
    ASSERT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    UsageKey read_key;
    Usage read;
    ASSERT_TRUE(read_usage_line(std::string_view(line).substr(0, line.size() - 1), read_key, read));
    EXPECT_EQ(read_key, key);
    EXPECT_EQ(usage_line(read_key, read), line);
    for (const char* bad :
         {"", "1", "2\t20261129\tv\ta\ts\t\t1\t2\t3\t4\t5\t6\t7\t", "1\t20261129\tv\ta\ts\t\t1\t2\t3\t4\t5\t6\t-7\t",
          "1\tx\tv\ta\ts\t\t1\t2\t3\t4\t5\t6\t7\t", "1\t20261129\tv\ta\ts\t\t1\t2\t3\t4\t5\t6\t7\tr00"})
        EXPECT_FALSE(read_usage_line(bad, read_key, read)) << bad;
}

TEST(UsageLedger, OfAFileTheLastLineOfEachRowCounts) {
    const auto line = [](int day, uint64_t sent) { return usage_line(key_of(day, "a"), {.sent = sent}); };
    EXPECT_EQ(newest_usage_lines(line(20261129, 1) + "x\n" + line(20261128, 2) + line(20261129, 3) + line(20261127, 4) +
                                     line(20261129, 5).substr(0, 9),
                                 20261128),
              line(20261128, 2) + line(20261129, 3));
}

TEST(Usage, OfTwoStreamsThePeakIsTheGreater) {
    Usage a{.sent = 1, .peak = 3}, b{.sent = 2, .peak = 2};
    a.viewers.add(1);
    b.viewers.add(1);
    b.viewers.add(2);
    a += b;
    EXPECT_EQ(a.sent, 3u);
    EXPECT_EQ(a.peak, 3u);
    EXPECT_EQ(a.viewers.count(), 2u);
}

}  // namespace
}  // namespace net

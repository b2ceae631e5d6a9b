#include "runtime/loop/tick_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace runtime {
namespace {

constexpr int64_t kBeginMs = 1'000'000;
constexpr int64_t kRoundMs = 1024 * TickWheel::kTickMs;

struct Entry : TickWheel::Entry {
    int64_t called_ms = 0;
};

class TickWheelTest : public ::testing::Test {
  protected:
    // Time passes as for a loop that sleeps until next_ms(): the entries in their order.
    std::vector<Entry*> pass_until(int64_t end_ms) {
        std::vector<Entry*> called;
        while (true) {
            for (TickWheel::Entry* one; (one = wheel_.pop(now_ms_)) != nullptr;) {
                called.push_back(static_cast<Entry*>(one));
                called.back()->called_ms = now_ms_;
            }
            const int64_t next = wheel_.next_ms();
            EXPECT_GT(next, now_ms_) << "nothing is due any more";
            if (next > end_ms) break;
            now_ms_ = next;
            ++wake_ups_;
        }
        now_ms_ = end_ms;
        return called;
    }

    int64_t now_ms_ = kBeginMs;
    size_t wake_ups_ = 0;
    TickWheel wheel_{kBeginMs};
};

TEST_F(TickWheelTest, EntriesAreDueInTheTickOfTheirTime) {
    struct Row {
        int64_t in_ms, due_in_ms;
    };
    for (const Row row : {Row{-100, 5},
                          {0, 5},
                          {1, 5},
                          {5, 5},
                          {6, 10},
                          {349, 350},
                          {kRoundMs - 5, kRoundMs - 5},
                          {kRoundMs, kRoundMs},
                          {kRoundMs + 5, kRoundMs + 5},
                          {10 * kRoundMs + 7, 10 * kRoundMs + 10}}) {
        TickWheel wheel(kBeginMs);
        Entry entry;
        wheel.set(entry, kBeginMs + row.in_ms);
        EXPECT_EQ(entry.due_ms(), kBeginMs + row.due_in_ms);
        EXPECT_EQ(wheel.pop(kBeginMs + row.due_in_ms - 1), nullptr) << row.in_ms;
        EXPECT_EQ(wheel.pop(kBeginMs + row.due_in_ms), &entry) << row.in_ms;
        EXPECT_FALSE(entry.is_set());
        EXPECT_EQ(wheel.next_ms(), INT64_MAX);
    }
}

TEST_F(TickWheelTest, TheOrderIsThatOfTicksAndThenOfSetting) {
    Entry a, b, c, d;
    wheel_.set(a, kBeginMs + 100);
    wheel_.set(b, kBeginMs + 50);
    wheel_.set(c, kBeginMs + 97);
    wheel_.set(d, kBeginMs + 2 * kRoundMs);
    EXPECT_EQ(pass_until(kBeginMs + kRoundMs), (std::vector{&b, &a, &c}));
    EXPECT_EQ(pass_until(kBeginMs + 3 * kRoundMs), (std::vector{&d}));
    EXPECT_LE(wake_ups_, 2u + 2u) << "two times, and one a round for what is due later";
}

TEST_F(TickWheelTest, AnEntryMovesAndIsCancelled) {
    Entry moved, cancelled;
    wheel_.set(moved, kBeginMs + 10);
    wheel_.set(cancelled, kBeginMs + 20);
    {
        Entry destroyed;
        wheel_.set(destroyed, kBeginMs + 20);
    }
    wheel_.set(moved, kBeginMs + 40);
    cancelled.cancel();
    cancelled.cancel();
    EXPECT_FALSE(cancelled.is_set());
    EXPECT_EQ(pass_until(kBeginMs + 100), (std::vector{&moved}));
    EXPECT_EQ(moved.called_ms, kBeginMs + 40);
}

TEST_F(TickWheelTest, WhatIsDueMayBeMovedOrDestroyedByWhatIsCalledBeforeIt) {
    Entry first, again;
    auto gone = std::make_unique<Entry>();
    for (Entry* one : {&first, gone.get(), &again}) wheel_.set(*one, kBeginMs + 10);
    EXPECT_EQ(wheel_.pop(kBeginMs + 10), &first);
    EXPECT_EQ(wheel_.next_ms(), kBeginMs + 10) << "others are due still";
    gone.reset();
    wheel_.set(again, kBeginMs + 30);
    wheel_.set(first, kBeginMs);
    EXPECT_EQ(wheel_.pop(kBeginMs + 10), nullptr) << "the same tick is over";
    EXPECT_EQ(pass_until(kBeginMs + 100), (std::vector{&first, &again}));
}

TEST_F(TickWheelTest, AfterAPauseAllThatIsDueComesOnce) {
    std::deque<Entry> entries(100);
    for (size_t i = 0; i < entries.size(); ++i) wheel_.set(entries[i], kBeginMs + static_cast<int64_t>(i) * 100);
    std::vector<TickWheel::Entry*> got;
    while (auto* one = wheel_.pop(kBeginMs + 3 * kRoundMs)) got.push_back(one);
    EXPECT_EQ(got.size(), entries.size());
    EXPECT_EQ(wheel_.next_ms(), INT64_MAX);
}

// Against a model: a list that is searched.
TEST_F(TickWheelTest, RandomOperations) {
    std::mt19937 random(1);
    std::deque<Entry> entries(50);
    std::vector<int64_t> due(entries.size(), 0);  // 0: not set
    for (int step = 0; step < 20'000; ++step) {
        const size_t i = random() % entries.size();
        switch (random() % 4) {
            case 0:
                entries[i].cancel();
                due[i] = 0;
                break;
            case 1:
                now_ms_ += random() % 8 == 0 ? random() % 20'000 : random() % 20;
                for (TickWheel::Entry* one; (one = wheel_.pop(now_ms_)) != nullptr;) {
                    const auto at = static_cast<size_t>(static_cast<Entry*>(one) - &entries[0]);
                    const auto found = std::ranges::find_if(entries, [&](Entry& e) { return &e == one; });
                    ASSERT_NE(found, entries.end()) << at;
                    int64_t& known = due[static_cast<size_t>(found - entries.begin())];
                    ASSERT_NE(known, 0);
                    ASSERT_LE(known, now_ms_);
                    known = 0;
                }
                for (const int64_t at : due) ASSERT_TRUE(at == 0 || at > now_ms_ / 5 * 5) << "one was left out";
                break;
            default:
                wheel_.set(entries[i], now_ms_ + static_cast<int64_t>(random() % 12'000) - 100);
                due[i] = entries[i].due_ms();
        }
        int64_t earliest = INT64_MAX;
        for (const int64_t at : due) earliest = at == 0 ? earliest : std::min(earliest, at);
        ASSERT_LE(wheel_.next_ms(), earliest);
    }
}

TEST(TickGridTest, LongIntervalsShareFewTimes) {
    EXPECT_EQ(TickWheel::grid_ms(5), 5);
    EXPECT_EQ(TickWheel::grid_ms(39), 5);
    EXPECT_EQ(TickWheel::grid_ms(40), 10);
    EXPECT_EQ(TickWheel::grid_ms(150), 50);
    EXPECT_EQ(TickWheel::grid_ms(350), 50);
}

}  // namespace
}  // namespace runtime

#include "service/api/history/figure_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "service/api/history/figure_code.h"
#include "service/api/history/figure_record.h"

namespace service::api {
namespace {

TEST(FigureCode, IsExactBelow128AndNearAboveIt) {
    uint16_t before = 0;
    for (uint64_t value = 0; value < 300'000; ++value) {
        const uint16_t code = encode_figure(value);
        ASSERT_GE(code, before) << value << ": greater figures have greater codes";
        before = code;
        const auto back = static_cast<double>(decode_figure(code));
        ASSERT_LE(std::abs(back - static_cast<double>(value)), value < 128 ? 0 : static_cast<double>(value) / 128)
            << value;
    }
    for (int bit = 7; bit < 64; ++bit)
        for (const int64_t off : {-1, 0, 1}) {
            const uint64_t value = (uint64_t{1} << bit) + static_cast<uint64_t>(off);
            EXPECT_NEAR(static_cast<double>(decode_figure(encode_figure(value))) / static_cast<double>(value), 1,
                        1.0 / 127)
                << value;
        }
    EXPECT_EQ(decode_figure(encode_figure(UINT64_MAX)), UINT64_MAX);
    EXPECT_EQ(decode_figure(UINT16_MAX), UINT64_MAX);
}

using Rows = std::map<uint32_t, std::vector<uint16_t>>;

Rows rows_of(const FigureSeries& series, uint32_t from = 0, uint32_t to = UINT32_MAX, size_t columns = 4) {
    Rows rows;
    series.visit(from, to, [&](uint32_t slot, const uint16_t* codes) {
        EXPECT_TRUE(rows.empty() || rows.rbegin()->first < slot) << "in order";
        rows[slot] = {codes, codes + columns};
    });
    return rows;
}

TEST(FigureSeries, GivesBackWhatItWasGiven) {
    FigureSeries series(4, 60);
    EXPECT_FALSE(series.first_slot() || series.last_slot());
    EXPECT_TRUE(rows_of(series).empty());
    Rows given;
    uint32_t random = 1;
    for (uint32_t slot = 1'000; slot < 2'000; ++slot) {
        if (slot % 97 < 5) continue;  // gaps
        random = random * 1'664'525 + 1'013'904'223;
        const uint16_t wide = static_cast<uint16_t>(random >> 16),
                       near = static_cast<uint16_t>(700 + (random >> 8) % 5);
        given[slot] = {slot < 1'500 ? wide : uint16_t{0}, near, 0, 65'535};
        series.append(slot, given[slot]);
    }
    EXPECT_EQ(rows_of(series), given);
    EXPECT_EQ(*series.first_slot(), given.begin()->first);
    EXPECT_EQ(*series.last_slot(), given.rbegin()->first);
    const Rows some = rows_of(series, 1'234, 1'300);
    EXPECT_EQ(some, Rows(given.lower_bound(1'234), given.lower_bound(1'300)));
    series.append(1'500, std::vector<uint16_t>{1, 1, 1, 1});
    EXPECT_EQ(rows_of(series), given) << "time does not go back";
    series.rest();
    EXPECT_EQ(rows_of(series), given);
    series.append(5'000, std::vector<uint16_t>{1, 2, 3, 4});
    given[5'000] = {1, 2, 3, 4};
    EXPECT_EQ(rows_of(series), given) << "it goes on";
}

TEST(FigureSeries, DropsTheOldest) {
    FigureSeries series(1, 10);
    for (uint32_t slot = 0; slot < 35; ++slot) series.append(slot, std::vector<uint16_t>{static_cast<uint16_t>(slot)});
    series.drop_before(20);
    EXPECT_EQ(*series.first_slot(), 20u);
    series.drop_before(25);
    EXPECT_EQ(*series.first_slot(), 20u) << "a block goes as a whole";
    EXPECT_TRUE(series.drop_oldest());
    EXPECT_EQ(*series.first_slot(), 30u);
    EXPECT_FALSE(series.drop_oldest()) << "the rest is not packed";
    EXPECT_EQ(rows_of(series, 0, 100, 1).size(), 5u);
}

constexpr std::array<FigureSpec, 4> kSpecs = {
    {{"mean"}, {"tenths", Merge::kMean, 10}, {"most", Merge::kMax}, {"sum", Merge::kSum}}};

TEST(FigureRecord, SecondsBecomePoints) {
    FigureRecord record(kSpecs);
    for (uint32_t s = 600; s < 900; ++s)
        if (s != 700) record.append(s, std::vector<uint64_t>{s % 10, 255, s % 10, 1});
    const FigurePoints ones = record.points(695, 10, 1);
    ASSERT_EQ(ones.present.size(), 10u);
    EXPECT_FALSE(ones.present[5]) << "there was no second 700";
    EXPECT_TRUE(ones.present[4]);
    EXPECT_EQ(ones.values[0][4], 9);
    EXPECT_NEAR(ones.values[1][4], 25.5, 0.2);
    const FigurePoints tens = record.points(600, 40, 10);
    EXPECT_EQ(tens.values[0][1], 4.5);
    EXPECT_EQ(tens.values[2][1], 9);
    EXPECT_EQ(tens.values[3][1], 10);
    EXPECT_EQ(tens.values[3][10], 9) << "a second is missing";
    EXPECT_TRUE(tens.present[29]);
    EXPECT_FALSE(tens.present[30]) << "it has not come yet";
    const FigurePoints minutes = record.points(600, 6, 60);
    EXPECT_EQ(minutes.values[3], std::vector<double>({60, 59, 60, 60, 60, 0})) << "the present minute is there, too";
    EXPECT_EQ(minutes.values[2][4], 9);
    EXPECT_EQ(record.points(600, 2, 120).values[3], std::vector<double>({119, 120}));
    EXPECT_TRUE(record.points(5'000, 10, 1).values[0].empty()) << "nothing is 0 throughout";
}

TEST(FigureRecord, AnHourAndADayAreKept) {
    FigureRecord record(kSpecs);
    constexpr uint32_t kDay = 86'400, kEnd = 3 * kDay;
    for (uint32_t s = 0; s < kEnd; ++s) {
        record.append(s, std::vector<uint64_t>{s, s % 300, 1, 0});
        if (s % 60 == 0) record.trim(s);
    }
    EXPECT_NEAR(*record.first_s(1), kEnd - 3'600, 120);
    EXPECT_NEAR(*record.first_s(60), kEnd - kDay, 3'600);
    EXPECT_EQ(*record.last_s(), kEnd - 1);
    EXPECT_LT(record.bytes(), 16'000u);
    record.rest();
    record.trim(kEnd + 2 * kDay);
    EXPECT_FALSE(record.first_s(60)) << "all of it is too old";
}

TEST(FigureRecord, WhatVariesKeepsLess) {
    FigureRecord record(kSpecs);
    uint64_t random = 1;
    for (uint32_t s = 0; s < 7'200; ++s) {
        random = random * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
        record.append(s, std::vector<uint64_t>{random >> 1, random >> 20, random >> 40, random >> 50});
        record.shrink(10'000);
        ASSERT_LE(record.bytes(), 10'000u) << s;
    }
    EXPECT_GT(*record.first_s(1), 7'200 - 3'600u);
    EXPECT_EQ(*record.first_s(60), 0u) << "seconds go before minutes";
}

}  // namespace
}  // namespace service::api

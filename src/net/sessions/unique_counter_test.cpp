#include "net/sessions/unique_counter.h"

#include <gtest/gtest.h>

#include <cmath>

namespace net {
namespace {

// splitmix64: uniform, and the same in each run.
uint64_t hash_of(uint64_t number) {
    number += 0x9e3779b97f4a7c15;
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
}

UniqueCounter counter_of(uint64_t from, uint64_t to) {
    UniqueCounter counter;
    for (uint64_t i = from; i < to; ++i) counter.add(hash_of(i));
    return counter;
}

TEST(UniqueCounter, IsExactWhileTheyAreFew) {
    UniqueCounter counter;
    EXPECT_EQ(counter.count(), 0u);
    for (int pass = 0; pass < 3; ++pass)
        for (uint64_t i = 0; i < UniqueCounter::kExact; ++i) EXPECT_EQ(counter.add(hash_of(i)), pass == 0);
    EXPECT_EQ(counter.count(), UniqueCounter::kExact);
}

TEST(UniqueCounter, EstimatesMany) {
    for (const uint64_t number : {65u, 100u, 1'000u, 3'000u, 10'000u, 1'000'000u}) {
        const auto counted = static_cast<double>(counter_of(0, number).count());
        EXPECT_NEAR(counted / static_cast<double>(number), 1, 0.1) << number;  // three times the standard error
    }
    EXPECT_LE(counter_of(0, 100'000).memory(), 1100u);
}

TEST(UniqueCounter, JoinedOnesCountWhatIsInBothOnce) {
    const struct {
        uint64_t end_a, begin_b, end_b;
    } rows[] = {{40, 20, 60}, {60, 30, 90}, {20, 0, 5'000}, {5'000, 10, 20}, {5'000, 2'500, 7'500}};
    for (const auto& row : rows) {
        UniqueCounter joined = counter_of(0, row.end_a);
        joined.join(counter_of(row.begin_b, row.end_b));
        EXPECT_EQ(joined.count(), counter_of(0, std::max(row.end_a, row.end_b)).count()) << row.end_a;
    }
}

TEST(UniqueCounter, ComesBackFromItsText) {
    for (const uint64_t number : {0u, 1u, 64u, 65u, 20'000u}) {
        const UniqueCounter counter = counter_of(0, number);
        const auto read = UniqueCounter::parse(counter.text());
        ASSERT_TRUE(read) << number;
        EXPECT_EQ(read->text(), counter.text());
        EXPECT_EQ(read->count(), counter.count());
    }
    const std::string many(2 * UniqueCounter::kRegisters, '0');
    for (const std::string& bad : {std::string("x"), std::string("h"), std::string("h12"), "h" + std::string(16, 'g'),
                                   "h" + std::string(16 * 65, '1'), "r" + many.substr(2), "r" + many + "00",
                                   "r38" + many.substr(2), std::string("rr")})
        EXPECT_FALSE(UniqueCounter::parse(bad)) << bad.substr(0, 20);
}

}  // namespace
}  // namespace net

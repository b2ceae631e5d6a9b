#include "load/histogram.h"

#include <gtest/gtest.h>

namespace load {
namespace {

TEST(Histogram, EmptyAnswersZero) {
    Histogram h;
    EXPECT_EQ(h.percentile(0.5), 0);
    EXPECT_EQ(h.max(), 0);
    EXPECT_EQ(h.mean(), 0);
}

TEST(Histogram, SmallValuesAreExact) {
    Histogram h;
    for (int i = 1; i <= 100; ++i) h.add(i);
    EXPECT_EQ(h.percentile(0.5), 50);
    EXPECT_EQ(h.percentile(0.99), 99);
    EXPECT_EQ(h.percentile(1), 100);
    EXPECT_EQ(h.percentile(0), 1);
    EXPECT_DOUBLE_EQ(h.mean(), 50.5);
}

TEST(Histogram, LargeValuesAreWithinTheirBucket) {
    for (int64_t value : {127LL, 128LL, 129LL, 1000LL, 350'000LL, 10'000'019LL, 9'000'000'000LL}) {
        Histogram h;
        h.add(value);
        h.add(value * 4);
        EXPECT_GE(h.percentile(0.5), value);
        EXPECT_LE(static_cast<double>(h.percentile(0.5)), static_cast<double>(value) * 1.016 + 1);
        EXPECT_EQ(h.max(), value * 4);
    }
}

TEST(Histogram, NegativeCountsAsZero) {
    Histogram h;
    h.add(-5);
    EXPECT_EQ(h.count(), 1u);
    EXPECT_EQ(h.percentile(0.5), 0);
}

TEST(Histogram, MergeIsAsIfAddedToOne) {
    Histogram a, b, both;
    for (int i = 0; i < 1000; ++i) {
        (i % 3 ? a : b).add(i * i);
        both.add(i * i);
    }
    a.merge(b);
    EXPECT_EQ(a.count(), both.count());
    for (double share : {0.1, 0.5, 0.9, 0.99, 1.0}) EXPECT_EQ(a.percentile(share), both.percentile(share));
}

TEST(Quantile, TakesTheNearestRank) {
    EXPECT_EQ(quantile({}, 0.5), 0);
    EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
    EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
    EXPECT_EQ(quantile({3, 1, 2}, 1), 3);
}

}  // namespace
}  // namespace load

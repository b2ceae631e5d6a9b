#include "service/api/snapshots/poster_budget.h"

#include <gtest/gtest.h>

namespace service::api {
namespace {

constexpr int64_t kSecond = 1'000'000;

int taken(PosterBudget& budget, int asked, int64_t now_us) {
    int taken = 0;
    for (int i = 0; i < asked; ++i) taken += budget.take(now_us) ? 1 : 0;
    return taken;
}

TEST(PosterBudget, ABurstAndThenARate) {
    PosterBudget budget;
    EXPECT_EQ(taken(budget, 1000, 5 * kSecond), PosterBudget::kBurst);
    EXPECT_EQ(taken(budget, 1000, 5 * kSecond + kSecond / 8), 0) << "not yet";
    EXPECT_EQ(taken(budget, 1000, 6 * kSecond), PosterBudget::kPerSecond);
    EXPECT_EQ(taken(budget, 1000, 3600 * kSecond), PosterBudget::kBurst) << "what nobody asked for is not saved up";
    EXPECT_EQ(budget.counters().made, 2 * PosterBudget::kBurst + PosterBudget::kPerSecond);
    EXPECT_EQ(budget.counters().refused_rate, 4000 - budget.counters().made);
}

TEST(PosterBudget, OfSomebodyWhoAsksAllTheTime) {
    PosterBudget budget;
    int made = 0;
    for (int64_t now_us = 0; now_us < 60 * kSecond; now_us += kSecond / 100) made += taken(budget, 1, now_us);
    EXPECT_NEAR(made, 60 * PosterBudget::kPerSecond + PosterBudget::kBurst, 1);
}

TEST(PosterBudget, FewWait) {
    PosterBudget budget;
    EXPECT_TRUE(budget.may_wait(PosterBudget::kMaxWaiting - 1));
    EXPECT_FALSE(budget.may_wait(PosterBudget::kMaxWaiting));
    EXPECT_EQ(budget.counters().refused_waiting, 1u);
}

}  // namespace
}  // namespace service::api

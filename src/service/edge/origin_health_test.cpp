#include "service/edge/origin_health.h"

#include <gtest/gtest.h>

namespace service::edge {
namespace {

using Names = std::vector<std::string>;

TEST(OriginHealth, AreUsedInTurn) {
    OriginHealth origins;
    const Names all{"a", "b", "c"};
    EXPECT_EQ(origins.order("v", all, 0), (Names{"a", "b", "c"}));
    EXPECT_EQ(origins.order("v", all, 0), (Names{"b", "c", "a"}));
    EXPECT_EQ(origins.order("w", all, 0), (Names{"a", "b", "c"})) << "each vhost by itself";
    EXPECT_EQ(origins.order("v", all, 0), (Names{"c", "a", "b"}));
    EXPECT_EQ(origins.order("v", all, 0), (Names{"a", "b", "c"}));
    EXPECT_EQ(origins.order("v", {"a"}, 0), (Names{"a"})) << "fewer after a reload";
    EXPECT_EQ(origins.order("v", {}, 0), Names{});
}

TEST(OriginHealth, ThatFailedAreTheLastAndReturn) {
    OriginHealth origins;
    const Names all{"a", "b"};
    origins.record_failure("a", "refused", 1'000);
    EXPECT_EQ(origins.order("v", all, 1'001), (Names{"b", "a"}));
    EXPECT_EQ(origins.order("v", all, 1'001), (Names{"b", "a"}));
    EXPECT_EQ(origins.order("v", all, 1'000 + OriginHealth::kFirstDownMs), (Names{"a", "b"})) << "it returns";
    origins.record_failure("a", "refused", 10'000);
    EXPECT_FALSE(origins.is_up("a", 10'000 + 2 * OriginHealth::kFirstDownMs - 1)) << "twice as long the second time";
    EXPECT_TRUE(origins.is_up("a", 10'000 + 2 * OriginHealth::kFirstDownMs));
    for (int i = 0; i < 100; ++i) origins.record_failure("a", "refused", 20'000);
    EXPECT_FALSE(origins.is_up("a", 20'000 + OriginHealth::kLongestDownMs - 1));
    EXPECT_TRUE(origins.is_up("a", 20'000 + OriginHealth::kLongestDownMs));
    EXPECT_EQ(origins.state("a").problem, "refused");
    origins.record_success("a");
    EXPECT_TRUE(origins.is_up("a", 20'000));
    EXPECT_EQ(origins.state("a").problem, "");
    EXPECT_EQ(origins.state("a").failures, 102u);
}

TEST(OriginHealth, OfAClusterAreLimited) {
    OriginHealth origins;
    origins.keep({"configured"});
    origins.record_failure("configured", "x", 0);
    origins.state("used").pulls = 1;
    for (int i = 0; i < 10'000; ++i) origins.record_failure("pod" + std::to_string(i), "x", 0);
    EXPECT_LE(origins.states().size(), OriginHealth::kMaxOthers + 2);
    EXPECT_FALSE(origins.is_up("configured", 1));
    EXPECT_EQ(origins.state("used").pulls, 1u);
}

TEST(OriginHealth, AreForgotten) {
    OriginHealth origins;
    origins.record_failure("a", "x", 0);
    origins.record_failure("b", "x", 0);
    origins.state("c").pulls = 1;
    origins.keep({"b"});
    EXPECT_EQ(origins.states().size(), 2u) << "b is configured, c is in use";
    EXPECT_TRUE(origins.is_up("a", 1));
}

}  // namespace
}  // namespace service::edge

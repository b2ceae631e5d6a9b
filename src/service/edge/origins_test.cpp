#include "service/edge/origins.h"

#include <gtest/gtest.h>

namespace service::edge {
namespace {

using Names = std::vector<std::string>;

TEST(Origins, AreUsedInTurn) {
    Origins origins;
    const Names all{"a", "b", "c"};
    EXPECT_EQ(origins.order("v", all, 0), (Names{"a", "b", "c"}));
    EXPECT_EQ(origins.order("v", all, 0), (Names{"b", "c", "a"}));
    EXPECT_EQ(origins.order("w", all, 0), (Names{"a", "b", "c"})) << "each vhost by itself";
    EXPECT_EQ(origins.order("v", all, 0), (Names{"c", "a", "b"}));
    EXPECT_EQ(origins.order("v", all, 0), (Names{"a", "b", "c"}));
    EXPECT_EQ(origins.order("v", {"a"}, 0), (Names{"a"})) << "fewer after a reload";
    EXPECT_EQ(origins.order("v", {}, 0), Names{});
}

TEST(Origins, ThatFailedAreTheLastAndReturn) {
    Origins origins;
    const Names all{"a", "b"};
    origins.note_failure("a", "refused", 1'000);
    EXPECT_EQ(origins.order("v", all, 1'001), (Names{"b", "a"}));
    EXPECT_EQ(origins.order("v", all, 1'001), (Names{"b", "a"}));
    EXPECT_EQ(origins.order("v", all, 1'000 + Origins::kFirstDownMs), (Names{"a", "b"})) << "it returns";
    origins.note_failure("a", "refused", 10'000);
    EXPECT_FALSE(origins.is_up("a", 10'000 + 2 * Origins::kFirstDownMs - 1)) << "twice as long the second time";
    EXPECT_TRUE(origins.is_up("a", 10'000 + 2 * Origins::kFirstDownMs));
    for (int i = 0; i < 100; ++i) origins.note_failure("a", "refused", 20'000);
    EXPECT_FALSE(origins.is_up("a", 20'000 + Origins::kLongestDownMs - 1));
    EXPECT_TRUE(origins.is_up("a", 20'000 + Origins::kLongestDownMs));
    EXPECT_EQ(origins.state("a").problem, "refused");
    origins.note_success("a");
    EXPECT_TRUE(origins.is_up("a", 20'000));
    EXPECT_EQ(origins.state("a").problem, "");
    EXPECT_EQ(origins.state("a").failures, 102u);
}

TEST(Origins, OfAClusterAreLimited) {
    Origins origins;
    origins.keep({"configured"});
    origins.note_failure("configured", "x", 0);
    origins.state("used").pulls = 1;
    for (int i = 0; i < 10'000; ++i) origins.note_failure("pod" + std::to_string(i), "x", 0);
    EXPECT_LE(origins.states().size(), Origins::kMaxOthers + 2);
    EXPECT_FALSE(origins.is_up("configured", 1));
    EXPECT_EQ(origins.state("used").pulls, 1u);
}

TEST(Origins, AreForgotten) {
    Origins origins;
    origins.note_failure("a", "x", 0);
    origins.note_failure("b", "x", 0);
    origins.state("c").pulls = 1;
    origins.keep({"b"});
    EXPECT_EQ(origins.states().size(), 2u) << "b is configured, c is in use";
    EXPECT_TRUE(origins.is_up("a", 1));
}

}  // namespace
}  // namespace service::edge

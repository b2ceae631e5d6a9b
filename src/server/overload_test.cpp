#include "server/overload.h"

#include <gtest/gtest.h>

namespace server {
namespace {

using Level = net::LoadLevel;

std::string levels(Overload& overload, std::initializer_list<double> seconds) {
    const config::CircuitBreaker breaker{true, 90, 2, 95, 1, 99, 3};
    std::string text;
    for (double percent : seconds) text += net::load_level_name(overload.second(percent, breaker)).front();
    return text;
}

TEST(Overload, EachLevelAfterItsPulse) {
    Overload overload;
    EXPECT_EQ(levels(overload, {50, 91, 91, 91, 89.9, 91, 91}), "nnhhnnh");
    EXPECT_EQ(levels(overload, {96, 92, 92}), "chh");
    EXPECT_EQ(levels(overload, {99, 100, 100, 100, 98.9, 99, 99, 99}),
              "ccddccc"
              "d");
    EXPECT_EQ(levels(overload, {0, 100, 100, 0, 100}), "nccnc");
}

struct OverloadFixture {
    net::Gate gate;
    net::Operations operations;
    config::SnapshotPtr snapshot = config::default_snapshot();
    OverloadWatch watch{snapshot, gate, operations};
    bool lets_in(net::Action action) {
        net::Visitor visitor;
        visitor.action = action;
        return watch.admit(visitor, snapshot->vhosts[0]).has_value();
    }
};

TEST(Overload, RefusesPlayersAloneAndCountsThem) {
    OverloadFixture f;
    EXPECT_TRUE(f.lets_in(net::Action::kPlay));
    f.operations.load.level = Level::kCritical;
    EXPECT_TRUE(f.lets_in(net::Action::kPlay));
    f.operations.load.level = Level::kDying;
    EXPECT_FALSE(f.lets_in(net::Action::kPlay));
    EXPECT_TRUE(f.lets_in(net::Action::kPublish));
    EXPECT_TRUE(f.lets_in(net::Action::kConnect));
    EXPECT_EQ(f.operations.load.refused, 1u);
}

}  // namespace
}  // namespace server

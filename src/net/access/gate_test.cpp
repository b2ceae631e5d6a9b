#include "net/access/gate.h"

#include <gtest/gtest.h>

namespace net {
namespace {

class TestGuard final : public Guard {
  public:
    TestGuard(std::string name, std::vector<std::string>& notes) : name_(std::move(name)), notes_(notes) {}
    base::Result<void> admit(const Visitor& visitor, const config::Vhost& vhost) override {
        notes_.push_back(name_ + " asked for " + visitor.stream + " in " + vhost.name);
        if (refuses) return base::fail(base::Code::kRefused, name_ + " refuses");
        return {};
    }
    bool may_yield(Action, const config::Vhost&) const override { return yields; }
    bool follows(Action action, const config::Vhost&) const override { return action == followed; }
    void left(const Visitor& visitor, const Traffic& traffic) override {
        notes_.push_back(name_ + " notified of " + visitor.id + ", " + std::to_string(traffic.sent_bytes));
    }
    bool refuses = false;
    bool yields = false;
    Action followed = Action::kPlay;

  private:
    std::string name_;
    std::vector<std::string>& notes_;
};

class GateTest : public ::testing::Test {
  protected:
    GateTest() { vhost_.name = "v"; }
    base::Result<Grant> ask(Action action = Action::kPlay) {
        Visitor visitor;
        visitor.action = action;
        visitor.id = "id";
        visitor.stream = "s";
        return gate_.admit(std::move(visitor), vhost_);
    }
    using Notes = std::vector<std::string>;
    Notes notes_;
    config::Vhost vhost_;
    Gate gate_;
    TestGuard a_{"a", notes_}, b_{"b", notes_};
};

// What a guard does for an admitted client it may leave out for a request that begins nothing.
TEST_F(GateTest, ARequestThatBeginsNothingIsChecked) {
    struct Beginner final : Guard {
        base::Result<void> admit(const Visitor&, const config::Vhost&) override {
            ++begun;
            return {};
        }
        base::Result<void> check(const Visitor&, const config::Vhost&) override { return {}; }
        int begun = 0;
    } beginner;
    gate_.add(beginner);
    EXPECT_TRUE(gate_.check({}, vhost_));
    EXPECT_EQ(beginner.begun, 0);
    EXPECT_TRUE(ask());
    EXPECT_EQ(beginner.begun, 1);
    gate_.remove(beginner);
}

// For a stream whose vhost needs a connect of its own.
TEST_F(GateTest, AHeldGrantEndsAfterTheOneThatHoldsIt) {
    gate_.add(a_);
    gate_.add(b_);
    a_.followed = Action::kConnect;
    auto connect = ask(Action::kConnect), play = ask(Action::kPlay);
    ASSERT_TRUE(connect && play && *connect && *play);
    notes_.clear();
    play->hold(*std::move(connect));
    EXPECT_EQ(notes_, Notes{});
    play->end({.sent_bytes = 7});
    EXPECT_EQ(notes_, (Notes{"b notified of id, 7", "a notified of id, 7"}));
    auto alone = ask(Action::kConnect);
    notes_.clear();
    {
        Grant nobody;
        nobody.hold(*std::move(alone));
        EXPECT_TRUE(nobody);
    }
    EXPECT_EQ(notes_, Notes{"a notified of id, 0"});
}

TEST_F(GateTest, WithoutGuardsEverybodyIsIn) {
    auto stay = ask();
    ASSERT_TRUE(stay);
    EXPECT_FALSE(*stay);
    static_assert(sizeof(Grant) == sizeof(void*));
}

TEST_F(GateTest, AsksInOrderAndTheFirstRefusalCounts) {
    gate_.add(a_);
    gate_.add(b_);
    b_.refuses = true;
    auto stay = ask();
    ASSERT_FALSE(stay);
    EXPECT_EQ(stay.error().text(), "b refuses");
    // The guard asked before is notified, so that what it began has an end.
    EXPECT_EQ(notes_, (Notes{"a asked for s in v", "b asked for s in v", "a notified of id, 0"}));
    notes_.clear();
    a_.refuses = true;
    EXPECT_FALSE(ask());
    EXPECT_EQ(notes_, (Notes{"a asked for s in v"}));
    EXPECT_EQ(gate_.refused_total(), 2u);
}

TEST_F(GateTest, TheEndIsToldOnceToThoseWhoFollow) {
    gate_.add(a_);
    gate_.add(b_);
    b_.followed = Action::kPublish;
    {
        auto stay = ask();
        ASSERT_TRUE(stay && *stay);
        Grant other = *std::move(stay);
        notes_.clear();
        other.end({1, 7});
        EXPECT_EQ(notes_, (Notes{"a notified of id, 7"}));
    }
    EXPECT_EQ(notes_.size(), 1u);
    {
        Grant stay = *ask(Action::kPublish);
        notes_.clear();
    }
    EXPECT_EQ(notes_, (Notes{"b notified of id, 0"}));
    Grant stay = *ask(Action::kConnect);
    EXPECT_FALSE(stay);
}

TEST_F(GateTest, AGuardThatLeftIsNotTold) {
    gate_.add(a_);
    Grant stay = *ask();
    gate_.remove(a_);
    notes_.clear();
    stay.end({});
    EXPECT_EQ(notes_, Notes{});
}

TEST_F(GateTest, ACheckAsksOnlyThoseThatDoNotYield) {
    gate_.add(a_);
    gate_.add(b_);
    EXPECT_FALSE(gate_.may_yield(Action::kPlay, vhost_));
    a_.yields = true;
    a_.refuses = true;
    EXPECT_TRUE(gate_.may_yield(Action::kPlay, vhost_));
    EXPECT_TRUE(gate_.check({}, vhost_));
    b_.refuses = true;
    EXPECT_FALSE(gate_.check({}, vhost_));
}

}  // namespace
}  // namespace net

#include "server/upgrade/process_link.h"

#include <gtest/gtest.h>

#include "live/hub/options.h"
#include "live/hub/owner_testing.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/stream_testing.h"

namespace server {
namespace {

using runtime::Deadline;
using runtime::ProcessChannel;
using runtime::testing::ok;
using upgrade::Kind;
using upgrade::Message;

class Owner final : public live::PublicationOwner {
  public:
    explicit Owner(bool is_alive = true, bool copies = false, bool relays = false)
        : is_alive_(is_alive), copies_(copies), relays_(relays) {}
    bool publisher_alive() const override { return is_alive_; }
    bool is_copy() const override { return copies_; }
    bool is_relay() const override { return relays_; }
    void publication_revoked(std::string_view, base::CloseReason reason) override { revoked = reason; }
    base::CloseReason revoked = base::CloseReason::kUnknown;

  private:
    bool is_alive_, copies_, relays_;
};

struct Standby final : live::testing::Owner {
    live::StandbyOptions standby() const override { return {.mode = live::StandbyMode::kOn}; }
};

// The link's other end is the test.
class ProcessLinkTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        auto pair = runtime::process_channel_pair();
        ASSERT_TRUE(ok(pair));
        ASSERT_TRUE(ok(other_.open(*pair->second.release_one())));
        link_.connect({registry_, sessions_, gate_, offers_});
        offers_.other_process_changed.push_back([this](const base::StreamKey& key) { changed_.push_back(key.name); });
        offers_.serve_other_process = [this](auto stream) { served_.push_back(std::move(stream)); };
        auto channel = std::make_unique<ProcessChannel>();
        ASSERT_TRUE(ok(channel->open(*pair->first.release_one())));
        open(std::move(channel));
    }
    void open(std::unique_ptr<ProcessChannel> channel) {
        link_.open(
            std::move(channel), [this] { return snapshot_; }, false);
    }
    ~ProcessLinkTest() override { link_.close(); }

    static base::StreamKey key(std::string name) { return {"__defaultVhost__", "live", std::move(name)}; }
    live::Publication publish(const std::string& name, Owner& owner) {
        auto stream = registry_.find_or_create(key(name), {});
        auto acquired = stream->acquire(owner, false);
        EXPECT_TRUE(ok(acquired));
        return acquired ? *std::move(acquired) : live::Publication();
    }
    void tell(const Message& message, runtime::OwnedDescriptors descriptors = {}) {
        EXPECT_TRUE(ok(other_.send({write_message(message), std::move(descriptors)}, runtime::testing::soon())));
        for (int i = 0; i < 5; ++i) (void)runtime::yield();
    }
    Message heard(runtime::OwnedDescriptors* descriptors = nullptr) {
        auto message = other_.receive(runtime::testing::soon());
        if (!ok(message)) return {};
        if (descriptors) *descriptors = std::move(message->descriptors);
        return upgrade::parse_message(message->text).value_or(Message());
    }
    base::Result<net::Grant> publish_elsewhere(const std::string& name) {
        net::Visitor visitor;
        visitor.action = net::Action::kPublish;
        visitor.vhost = key(name).vhost;
        visitor.app = key(name).app;
        visitor.stream = name;
        return gate_.admit(visitor, snapshot_->vhosts.front());
    }

    config::SnapshotPtr snapshot_ = config::default_snapshot();
    live::Registry registry_;
    net::SessionTable sessions_;
    net::Gate gate_;
    service::Offers offers_;
    std::vector<std::string> changed_;
    std::vector<std::unique_ptr<runtime::ByteStream>> served_;
    ProcessChannel other_;
    ProcessLink link_;
};

TEST_F(ProcessLinkTest, NamesWhatIsPublishedHere) {
    Owner owner, copy(true, true);
    {
        const auto publication = publish("s", owner);
        EXPECT_EQ(heard(), (Message{.kind = Kind::kPublished, .keys = {key("s")}}));
        const auto copied = publish("copied", copy);
    }
    EXPECT_EQ(heard(), (Message{.kind = Kind::kUnpublished, .keys = {key("s")}})) << "a copy is not named";
}

TEST_F(ProcessLinkTest, WhatIsPulledForPlayersIsNotNamed) {
    Owner pulled(true, false, true), owner;
    const auto before = publish("before", pulled);
    auto pair = runtime::process_channel_pair();
    ASSERT_TRUE(ok(pair));
    link_.close();
    other_.close();
    ASSERT_TRUE(ok(other_.open(*pair->second.release_one())));
    auto channel = std::make_unique<ProcessChannel>();
    ASSERT_TRUE(ok(channel->open(*pair->first.release_one())));
    open(std::move(channel));
    { const auto after = publish("after", pulled); }
    const auto published = publish("own", owner);
    EXPECT_EQ(heard(), (Message{.kind = Kind::kPublished, .keys = {key("own")}})) << "nothing else comes before it";
}

TEST_F(ProcessLinkTest, KnowsWhatIsPublishedThere) {
    tell({.kind = Kind::kPublished, .keys = {key("s"), key("t")}});
    EXPECT_TRUE(link_.publishes(key("s")));
    EXPECT_FALSE(link_.publishes(key("u")));
    tell({.kind = Kind::kUnpublished, .keys = {key("s"), key("unknown")}});
    EXPECT_FALSE(link_.publishes(key("s")));
    EXPECT_EQ(changed_, (std::vector<std::string>{"s", "t", "s"}));
}

TEST_F(ProcessLinkTest, ConnectsBothWays) {
    auto mine = link_.connect();
    ASSERT_TRUE(ok(mine));
    runtime::OwnedDescriptors descriptors;
    EXPECT_EQ(heard(&descriptors).kind, Kind::kStream);
    ASSERT_EQ(descriptors.size(), 1u);
    auto theirs = runtime::local_stream(*descriptors.release_one());
    ASSERT_TRUE(ok(theirs));
    const auto word = runtime::testing::bytes("word");
    EXPECT_TRUE(ok((*mine)->write(word, runtime::testing::soon())));
    EXPECT_EQ(runtime::testing::text(runtime::read_shared(**theirs, runtime::testing::soon()).value()), "word");

    auto pair = runtime::local_stream_pair();
    ASSERT_TRUE(ok(pair));
    tell({.kind = Kind::kStream}, std::move(pair->second));
    EXPECT_EQ(served_.size(), 1u);
    tell({.kind = Kind::kStream});
    EXPECT_EQ(served_.size(), 1u) << "a message without its descriptor";
}

TEST_F(ProcessLinkTest, AStrangeDescriptorIsNotServed) {
    auto pair = runtime::process_channel_pair();
    ASSERT_TRUE(ok(pair));
    tell({.kind = Kind::kStream}, std::move(pair->second));
    EXPECT_TRUE(served_.empty());
    EXPECT_TRUE(link_.is_there());
}

TEST_F(ProcessLinkTest, APublisherIsRefusedWhereTheOtherProcessSaysSo) {
    EXPECT_TRUE(ok(publish_elsewhere("s"))) << "nobody is asked about a name that the other process does not have";
    tell({.kind = Kind::kPublished, .keys = {key("s")}});
    base::Result<net::Grant> first, second;
    auto asking = runtime::spawn("first", [&] { first = publish_elsewhere("s"); });
    const Message claim = heard();
    EXPECT_EQ(claim.kind, Kind::kClaim);
    tell({.kind = Kind::kVerdict, .text = "is being published already", .id = claim.id});
    EXPECT_TRUE(ok(asking.join(runtime::testing::soon())));
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().text(), "is being published already");
    EXPECT_EQ(first.error().close_reason(), base::CloseReason::kRefusedBusy);

    auto again = runtime::spawn("second", [&] { second = publish_elsewhere("s"); });
    tell({.kind = Kind::kVerdict, .id = claim.id});
    tell({.kind = Kind::kVerdict, .id = heard().id, .is_granted = true});
    EXPECT_TRUE(ok(again.join(runtime::testing::soon())));
    EXPECT_TRUE(ok(second));
}

TEST_F(ProcessLinkTest, AProcessThatDoesNotAnswerIsNotWaitedForLong) {
    tell({.kind = Kind::kPublished, .keys = {key("s")}});
    runtime::testing::SimulatedTime time;
    base::Result<net::Grant> admitted = base::fail(base::Code::kOther, "not asked");
    auto asking = runtime::spawn("asking", [&] { admitted = publish_elsewhere("s"); });
    time.pass_ms(ProcessLink::kAnswerMs + 1);
    EXPECT_TRUE(ok(asking.join(Deadline::in_ms(10))));
    EXPECT_TRUE(ok(admitted));
}

TEST_F(ProcessLinkTest, AClaimEndsADeadPublisherAndNoOther) {
    Owner dead(false), alive;
    const auto first = publish("dead", dead), second = publish("alive", alive);
    EXPECT_EQ(heard().kind, Kind::kPublished);
    EXPECT_EQ(heard().kind, Kind::kPublished);
    tell({.kind = Kind::kClaim, .id = 1, .keys = {key("alive")}});
    const Message refused = heard();
    EXPECT_FALSE(refused.is_granted);
    EXPECT_NE(refused.text.find("is being published already"), std::string::npos) << refused.text;
    EXPECT_EQ(alive.revoked, base::CloseReason::kUnknown);
    tell({.kind = Kind::kClaim, .id = 2, .keys = {key("dead")}});
    EXPECT_EQ(heard(), (Message{.kind = Kind::kUnpublished, .keys = {key("dead")}})) << "before the verdict";
    EXPECT_EQ(heard(), (Message{.kind = Kind::kVerdict, .id = 2, .is_granted = true}));
    EXPECT_EQ(dead.revoked, base::CloseReason::kPublisherReplaced);
}

TEST_F(ProcessLinkTest, AStandbyOfANameThatHasGoneIsTold) {
    Standby active, standby;
    auto stream = registry_.find_or_create(key("s"), {});
    auto first = *stream->acquire(active, false);
    auto second = *stream->acquire(standby, false);
    tell({.kind = Kind::kPublished, .keys = {key("s")}});
    EXPECT_EQ(standby.revoked, "") << "the name is this process's";
    tell({.kind = Kind::kUnpublished, .keys = {key("s")}});
    first.end();
    tell({.kind = Kind::kPublished, .keys = {key("s")}});
    EXPECT_EQ(standby.reason, base::CloseReason::kPublisherReplaced);
}

TEST_F(ProcessLinkTest, WithItsEndAllIsForgotten) {
    tell({.kind = Kind::kPublished, .keys = {key("s")}});
    other_.close();
    EXPECT_TRUE(ok(link_.await_end(runtime::testing::soon())));
    EXPECT_FALSE(link_.is_there());
    EXPECT_FALSE(link_.publishes(key("s")));
    EXPECT_FALSE(link_.connect());
    EXPECT_TRUE(ok(publish_elsewhere("s")));
}

TEST_F(ProcessLinkTest, NonsenseEndsIt) {
    EXPECT_TRUE(ok(other_.send({"nonsense"}, runtime::testing::soon())));
    EXPECT_TRUE(ok(link_.await_end(runtime::testing::soon())));
}

TEST_F(ProcessLinkTest, AProcessThatReadsNothingIsToldOfTheEnd) {
    Owner owner;
    for (size_t i = 0; link_.is_there() && i < ProcessLink::kMaxQueued; ++i) {
        { const auto publication = publish("s", owner); }
        (void)runtime::yield();
    }
    EXPECT_FALSE(link_.is_there()) << "the queue should be full";
    base::Result<runtime::ProcessMessage> message;
    do message = other_.receive(runtime::testing::soon());
    while (message);
    EXPECT_EQ(message.error().code(), base::Code::kClosed) << message.error().text();
}

}  // namespace
}  // namespace server

#include "server/upgrade/process_link.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

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
        link_.connect({registry_, sessions_, gate_, offers_, api_router_, router_});
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
    // The next message but for figures, which come every second.
    Message heard(runtime::OwnedDescriptors* descriptors = nullptr) {
        while (true) {
            auto message = other_.receive(runtime::testing::soon());
            if (!ok(message)) return {};
            if (descriptors) *descriptors = std::move(message->descriptors);
            Message read = upgrade::parse_message(message->text).value_or(Message());
            if (read.kind != Kind::kFigures) return read;
        }
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
    net::HttpRouter api_router_, router_;
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

TEST_F(ProcessLinkTest, ConnectionsToItsHttpAreLimited) {
    std::vector<std::unique_ptr<runtime::ByteStream>> open;
    for (size_t i = 0; i < LinkHttp::kMaxServed + 3; ++i) {
        auto pair = runtime::local_stream_pair();
        ASSERT_TRUE(ok(pair));
        open.push_back(std::move(pair->first));
        tell({.kind = Kind::kHttp, .text = "api"}, std::move(pair->second));
    }
    EXPECT_EQ(std::ranges::count_if(open, [](const auto& stream) { return stream->peer_gone(); }), 3);
    EXPECT_TRUE(link_.is_there());
    open.clear();
    for (int i = 0; i < 50; ++i) (void)runtime::yield();
    auto again = runtime::local_stream_pair();
    ASSERT_TRUE(ok(again));
    tell({.kind = Kind::kHttp, .text = "api"}, std::move(again->second));
    EXPECT_FALSE(again->first->peer_gone()) << "those that have left make room";
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

TEST_F(ProcessLinkTest, StreamsOfAProcessThatDiesHaveEnded) {
    std::vector<std::string> ended;
    offers_.other_process_changed.push_back([&](const base::StreamKey& stream) {
        if (!link_.is_there() && !link_.publishes(stream)) ended.push_back(stream.name);
        EXPECT_EQ(link_.is_there(), static_cast<bool>(link_.connect())) << "who is told may look for it again";
    });
    tell({.kind = Kind::kPublished, .keys = {key("s"), key("t"), key("u")}});
    tell({.kind = Kind::kUnpublished, .keys = {key("t")}});
    other_.close();
    EXPECT_TRUE(ok(link_.await_end(runtime::testing::soon())));
    for (int i = 0; i < 5; ++i) (void)runtime::yield();
    EXPECT_EQ(ended, (std::vector<std::string>{"s", "u"})) << "each once, and not what had ended before";
    link_.close();
    EXPECT_EQ(ended.size(), 2u);
}

TEST_F(ProcessLinkTest, WhoClosesItIsNotToldOfStreams) {
    tell({.kind = Kind::kPublished, .keys = {key("s")}});
    link_.close();
    for (int i = 0; i < 5; ++i) (void)runtime::yield();
    EXPECT_EQ(changed_, (std::vector<std::string>{"s"})) << "this process ends, and is to change nothing";
}

TEST_F(ProcessLinkTest, NonsenseEndsIt) {
    EXPECT_TRUE(ok(other_.send({"nonsense"}, runtime::testing::soon())));
    EXPECT_TRUE(ok(link_.await_end(runtime::testing::soon())));
}

TEST_F(ProcessLinkTest, AProcessThatReadsNothingIsToldOfTheEnd) {
    Owner owner;
    tell({.kind = Kind::kPublished, .keys = {key("t")}});
    for (size_t i = 0; link_.is_there() && i < ProcessLink::kMaxQueued; ++i) {
        { const auto publication = publish("s", owner); }
        if (!link_.is_there()) break;
        (void)runtime::yield();
    }
    EXPECT_FALSE(link_.is_there()) << "the queue should be full";
    EXPECT_EQ(changed_.size(), 1u) << "not within the call that has found it, of a publisher";
    for (int i = 0; i < 5; ++i) (void)runtime::yield();
    EXPECT_EQ(changed_, (std::vector<std::string>{"t", "t"}));
    base::Result<runtime::ProcessMessage> message;
    do message = other_.receive(runtime::testing::soon());
    while (message);
    EXPECT_EQ(message.error().code(), base::Code::kClosed) << message.error().text();
}

// ---- Two links: the process that is replaced, and the other one

class TwoLinksTest : public runtime::testing::RuntimeTest {
  protected:
    struct Side {
        live::Registry registry;
        net::SessionTable sessions;
        net::Gate gate;
        service::Offers offers;
        net::HttpRouter api_router, router;
        ProcessLink link;
        void open(int channel, bool is_replaced) {
            link.connect({registry, sessions, gate, offers, api_router, router});
            auto opened = std::make_unique<ProcessChannel>();
            ASSERT_TRUE(ok(opened->open(channel)));
            link.open(
                std::move(opened), [] { return config::default_snapshot(); }, is_replaced);
        }
    };
    void SetUp() override {
        RuntimeTest::SetUp();
        net::HttpRoute route;
        route.methods = {http::Method::kGet, http::Method::kDelete};
        route.pattern = "/x/{id}";
        route.handler = [this](net::HttpRequest& request, net::HttpResponse& response) {
            EXPECT_TRUE(request.is_of_other_process);
            if (stands_still_) (void)runtime::sleep_ms(60'000);
            return response.send(
                200, "text/plain",
                fmt::format("{} {}", http::method_name(request.message.method), request.capture("id")));
        };
        old_.api_router.add(route);
        route.pattern = "/who";
        route.handler = [](net::HttpRequest& request, net::HttpResponse& response) {
            return response.send(200, "text/plain", request.peer_ip);
        };
        old_.api_router.add(route);
    }
    void open() {
        auto pair = runtime::process_channel_pair();
        ASSERT_TRUE(ok(pair));
        old_.open(*pair->first.release_one(), false);
        new_.open(*pair->second.release_one(), true);
    }
    void TearDown() override {
        new_.link.close();
        old_.link.close();
    }
    Side old_, new_;
    bool stands_still_ = false;
};

TEST_F(TwoLinksTest, TheApiOfTheOtherAnswers) {
    open();
    for (const http::Method method : {http::Method::kGet, http::Method::kDelete}) {
        const auto answer = new_.link.ask({.method = method, .target = "/x/7?a=b"});
        ASSERT_TRUE(ok(answer));
        EXPECT_EQ(answer->body, fmt::format("{} 7", http::method_name(method)));
    }
    EXPECT_EQ(new_.link.ask({.target = "/y"})->status, 404);
    EXPECT_EQ(old_.sessions.admission().connections(), 0u) << "it counts for no limit";
    EXPECT_EQ(old_.sessions.size(), 1u) << "one connection for all";
    old_.link.close();
    EXPECT_FALSE(new_.link.ask({.target = "/x/7"}));
}

TEST_F(TwoLinksTest, TheOtherKnowsWhomItIsAskedFor) {
    open();
    service::OtherRequest request{.target = "/who"};
    request.headers.add("X-Forwarded-For", "192.0.2.7");
    EXPECT_EQ(new_.link.ask(request)->body, "192.0.2.7");
    EXPECT_EQ(new_.link.ask({.target = "/who"})->body, "127.0.0.1") << "this process for itself";
}

TEST_F(TwoLinksTest, NobodyWaitsForOneThatStandsStill) {
    runtime::testing::SimulatedTime time;
    open();
    stands_still_ = true;
    std::vector<base::Code> codes;
    const auto ask = [&] {
        auto task = runtime::spawn("asks", [&] {
            auto answer = new_.link.ask({.target = "/x/7", .within_ms = 200});
            codes.push_back(answer ? base::Code::kOther : answer.error().code());
        });
        time.pass_ms(300);
        task.cancel_and_join();
    };
    ask();
    ask();
    EXPECT_EQ(codes, std::vector(2, base::Code::kTimeout));
    EXPECT_EQ(old_.sessions.size(), 1u) << "it is not asked again at once";
    stands_still_ = false;
    time.pass_ms(LinkHttp::kPauseMs);
    ask();
    EXPECT_EQ(codes.back(), base::Code::kOther);
}

TEST_F(TwoLinksTest, SlowRequestsLeaveRoomForQuickOnes) {
    runtime::testing::SimulatedTime time;
    open();
    stands_still_ = true;
    size_t refused = 0;
    std::vector<runtime::Task> tasks;
    for (size_t i = 0; i < LinkHttp::kMaxSlow + 5; ++i)
        tasks.push_back(runtime::spawn("asks", [&] {
            const auto answer = new_.link.ask({.target = "/x/7", .within_ms = 30'000, .is_slow = true});
            refused += !answer && answer.error().code() == base::Code::kLimit ? 1 : 0;
        }));
    time.pass_ms(10);
    EXPECT_EQ(refused, 5u);
    EXPECT_EQ(new_.link.ask({.target = "/who"})->status, 200);
    for (runtime::Task& task : tasks) task.cancel_and_join();
}

TEST_F(TwoLinksTest, LimitsAreOfBothTogether) {
    runtime::testing::SimulatedTime time;
    const auto address = *base::IpAddress::parse("192.0.2.1");
    new_.sessions.admission().set_options({3, {2, 0, 1, {}}});
    net::Admission::Ticket first(old_.sessions.admission(), address), second(old_.sessions.admission(), address);
    open();
    time.pass_ms(10);
    ASSERT_NE(new_.link.figures(), nullptr);
    EXPECT_EQ(new_.link.figures()->connections, 2u);
    EXPECT_EQ(new_.link.figures()->pid, getpid());
    net::Admission& admission = new_.sessions.admission();
    EXPECT_FALSE(admission.admit_without_descriptor("192.0.2.1")) << "address_limits";
    ASSERT_TRUE(admission.admit_without_descriptor("192.0.2.2"));
    net::Admission::Ticket third(admission, *base::IpAddress::parse("192.0.2.2"));
    EXPECT_FALSE(admission.admit_without_descriptor("192.0.2.3")) << "max_connections";
    first.release();
    time.pass_ms(ProcessLink::kFiguresMs);
    EXPECT_TRUE(admission.admit_without_descriptor("192.0.2.1"));
    old_.link.close();
    time.pass_ms(10);
    EXPECT_EQ(new_.link.figures(), nullptr);
    EXPECT_EQ(admission.elsewhere(), 0u);
}

TEST_F(TwoLinksTest, LastCountersAreReadBeforeTheEnd) {
    runtime::testing::SimulatedTime time;
    int reads = 0;
    new_.offers.read_other_process.push_back([&](bool) { reads += new_.link.ask({.target = "/x/7"}).has_value(); });
    open();
    time.pass_ms(10);
    EXPECT_EQ(reads, 1);
    auto task = runtime::spawn("ends", [&] { old_.link.announce_end(); });
    time.pass_ms(10);
    EXPECT_TRUE(task.done());
    EXPECT_EQ(reads, 2);
    stands_still_ = true;
    auto other = runtime::spawn("ends again", [&] { new_.link.announce_end(); });
    time.pass_ms(10);
    EXPECT_TRUE(other.done()) << "the new one announces nothing";
}

}  // namespace
}  // namespace server

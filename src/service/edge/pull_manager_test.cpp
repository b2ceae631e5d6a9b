#include "service/edge/pull_manager.h"

#include <gtest/gtest.h>

#include "runtime/loop/simulated_time_testing.h"
#include "service/edge/testing.h"
#include "service/other_process_testing.h"

namespace service::edge {
namespace {

using runtime::testing::ok;

// Its origin refuses connections.
class PullsTest : public testing::EdgeTest {
  protected:
    void SetUp() override {
        EdgeTest::SetUp();
        make_pulls({"127.0.0.1:1"});
        pulls_->start();
    }
    void TearDown() override {
        pulls_.reset();
        EXPECT_EQ(registry_.size(), 0u);
    }
    base::Result<net::Grant> ask(const std::string& stream, const std::string& path = "",
                                 net::Action action = net::Action::kPlay, const std::string& ip = "") {
        net::Visitor visitor;
        visitor.ip = ip;
        visitor.action = action;
        visitor.type = net::SessionType::kRtmpPlay;
        visitor.vhost = vhost().name;
        visitor.app = "live";
        visitor.stream = stream;
        visitor.forward_path = path;
        return gate_.admit(visitor, vhost());
    }
    const Pull* find(const std::string& stream) const {
        const auto found = pulls_->list().find(key(stream));
        return found == pulls_->list().end() ? nullptr : found->second;
    }
};

TEST_F(PullsTest, BeginOncePerStreamAndForPlayersAlone) {
    ASSERT_TRUE(ok(ask("a")));
    ASSERT_TRUE(ok(ask("a")));
    ASSERT_TRUE(ok(ask("b")));
    ASSERT_TRUE(ok(ask("c", "", net::Action::kPublish)));
    EXPECT_EQ(pulls_->list().size(), 2u);
    ASSERT_TRUE(until([&] { return find("a") && !find("a")->problem().empty(); }));
    EXPECT_NE(find("a")->problem().find("127.0.0.1:1"), std::string::npos) << find("a")->problem();
    EXPECT_FALSE(health_.is_up("127.0.0.1:1", runtime::now_ms()));
}

TEST_F(PullsTest, LeaveAPublisherOfThisServerAlone) {
    auto stream = registry_.find_or_create(key("a"), live::live_options(vhost()));
    relay::testing::Publisher owner;
    auto publication = stream->acquire(owner, false);
    ASSERT_TRUE(ok(publication));
    ASSERT_TRUE(ok(ask("a")));
    EXPECT_EQ(find("a"), nullptr);
    // One that comes between two attempts ends the pull.
    ASSERT_TRUE(ok(ask("b")));
    auto other = registry_.find_or_create(key("b"), live::live_options(vhost()));
    auto taken = other->acquire(owner, false);
    ASSERT_TRUE(ok(taken));
    EXPECT_TRUE(until([&] { return !find("b"); }));
    taken->end();
    publication->end();
}

TEST_F(PullsTest, RefuseTheirOwnRequests) {
    ASSERT_TRUE(ok(ask("a", "x,y")));
    auto own = ask("b", "x," + pulls_->request_name() + ",y");
    ASSERT_FALSE(own);
    EXPECT_EQ(own.error().close_reason(), base::CloseReason::kRefused);
    EXPECT_EQ(find("b"), nullptr);
    EXPECT_EQ(pulls_->loops(), 1u);
}

// Where the vhost is no edge: streams that another server has are pulled, others are not waited for.
struct FakeLocator final : Locator {
    using Servers = std::map<std::string, std::string>;
    std::shared_ptr<Servers> servers = std::make_shared<Servers>();
    std::vector<bool> by_http;
    bool locates(const config::Vhost&) const override { return true; }
    std::vector<std::string> locate(const base::StreamKey& stream, bool http) override {
        by_http.push_back(http);
        // A pull that is ended meanwhile may outlive the test's locator.
        const std::shared_ptr<const Servers> known = servers;
        (void)runtime::sleep_ms(5).has_value();
        const auto found = known->find(stream.name);
        return found == known->end() ? std::vector<std::string>() : std::vector{found->second};
    }
    bool redirects(const config::Vhost&, bool) const override { return false; }
    std::string redirect(const base::StreamKey&, bool) override { return {}; }
};

TEST_F(PullsTest, OfALocalVhostComeFromWhereTheStreamIs) {
    FakeLocator locator;
    (*locator.servers)["a"] = "rtmp://127.0.0.1:2";
    pulls_->reload(snapshot_ = with({}, "local"));
    ASSERT_TRUE(ok(ask("a")));
    EXPECT_EQ(find("a"), nullptr) << "nobody is asked where streams are";
    offers_.locator = &locator;
    EXPECT_EQ(pulls_->fetching(key("a")), Fetching::kAsked);
    ASSERT_TRUE(ok(ask("a")));
    ASSERT_TRUE(until([&] { return find("a") && find("a")->server() == "rtmp://127.0.0.1:2"; }));
    EXPECT_EQ(pulls_->fetching(key("a")), Fetching::kAsked);
    ASSERT_TRUE(ok(ask("nowhere")));
    EXPECT_EQ(pulls_->fetching(key("nowhere")), Fetching::kAsked) << "it is looked up first";
    ASSERT_TRUE(until([&] { return pulls_->fetching(key("nowhere")) == Fetching::kRefused; }));
    // It is looked up again.
    (*locator.servers)["nowhere"] = "rtmp://127.0.0.1:2";
    EXPECT_TRUE(until([&] { return find("nowhere")->server() == "rtmp://127.0.0.1:2"; }));
    EXPECT_FALSE(locator.by_http.front()) << "by the protocol of the vhost";
    offers_.locator = nullptr;
    pulls_->reload(snapshot_);
    EXPECT_EQ(find("a"), nullptr);
}

TEST_F(PullsTest, OfALocalVhostEndWhenItsPublisherComes) {
    FakeLocator locator;
    offers_.locator = &locator;
    pulls_->reload(snapshot_ = with({}, "local"));
    ASSERT_TRUE(ok(ask("a")));
    ASSERT_TRUE(until([&] { return find("a")->is_refused(); }));
    auto stream = registry_.find_or_create(key("a"), live::live_options(vhost()));
    relay::testing::Publisher owner;
    auto publication = stream->acquire(owner, false);
    ASSERT_TRUE(ok(publication));
    EXPECT_TRUE(until([&] { return !find("a"); }));
    publication->end();
    offers_.locator = nullptr;
}

TEST_F(PullsTest, OfAnEdgeBeginWithTheServerThatHasTheStream) {
    FakeLocator locator;
    (*locator.servers)["a"] = "rtmp://127.0.0.1:2";
    offers_.locator = &locator;
    ASSERT_TRUE(ok(ask("a")));
    ASSERT_TRUE(until([&] { return find("a")->server() == "127.0.0.1:1"; })) << "then those of the configuration";
    EXPECT_NE(health_.states().find("rtmp://127.0.0.1:2"), health_.states().end());
    offers_.locator = nullptr;
}

TEST_F(PullsTest, AskAServerOnceThatIsLocatedAndConfigured) {
    FakeLocator locator;
    (*locator.servers)["a"] = "rtmp://127.0.0.1:1";
    offers_.locator = &locator;
    runtime::testing::SimulatedTime time;
    ASSERT_TRUE(ok(ask("a")));
    time.pass_ms(500);
    ASSERT_NE(find("a"), nullptr);
    EXPECT_EQ(find("a")->attempts(), 1u);
    EXPECT_EQ(find("a")->server(), "rtmp://127.0.0.1:1");
    offers_.locator = nullptr;
}

TEST_F(PullsTest, FollowAStreamThatMovesToAnotherServer) {
    FakeLocator locator;
    (*locator.servers)["a"] = "rtmp://127.0.0.1:2";
    pulls_->reload(snapshot_ = with({}, "local"));
    offers_.locator = &locator;
    runtime::testing::SimulatedTime time;
    ASSERT_TRUE(ok(ask("a")));
    time.pass_ms(200);
    ASSERT_NE(find("a"), nullptr);
    EXPECT_EQ(find("a")->server(), "rtmp://127.0.0.1:2");
    const uint64_t attempts = find("a")->attempts();
    (*locator.servers)["a"] = "rtmp://127.0.0.1:3";
    time.pass_ms(1'000);
    EXPECT_EQ(find("a")->server(), "rtmp://127.0.0.1:3");
    EXPECT_GT(find("a")->attempts(), attempts);
    offers_.locator = nullptr;
}

TEST_F(PullsTest, WithoutMediaHaveALimit) {
    for (size_t i = 0; i < PullManager::kMaxWithoutMedia; ++i) ASSERT_TRUE(ok(ask("s" + std::to_string(i))));
    ASSERT_TRUE(ok(ask("new"))) << "it takes the place of one that nobody plays";
    EXPECT_EQ(pulls_->list().size(), PullManager::kMaxWithoutMedia);
    EXPECT_NE(find("new"), nullptr);
    for (size_t i = 0; i < 2 * PullManager::kMaxWithoutMedia; ++i) {
        (void)ask("more" + std::to_string(i));
        ASSERT_LE(pulls_->list().size(), PullManager::kMaxWithoutMedia);
    }
    EXPECT_GT(pulls_->refused(), 0u) << "those that end have a limit, too";
}

TEST_F(PullsTest, WithoutMediaHaveALimitPerAddress) {
    const auto of = [&](const std::string& stream, const std::string& ip) {
        return ask(stream, "", net::Action::kPlay, ip);
    };
    for (size_t i = 0; i < PullManager::kMaxOfAddress; ++i) ASSERT_TRUE(ok(of("a" + std::to_string(i), "10.0.0.1")));
    const auto more = of("more", "10.0.0.1");
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().close_reason(), base::CloseReason::kRefusedLimit);
    EXPECT_TRUE(ok(of("a0", "10.0.0.1"))) << "what is pulled already";
    EXPECT_TRUE(ok(of("more", "10.0.0.2")));
    EXPECT_EQ(pulls_->refused(), 1u);
    auto exempting = std::make_shared<config::Snapshot>(*snapshot_);
    exempting->address_limits.exempt = {*base::IpNetwork::parse("10.0.0.0/24")};
    pulls_->reload(snapshot_ = exempting);
    EXPECT_TRUE(ok(of("another", "10.0.0.1")));
}

TEST_F(PullsTest, TheAddressWithMostGivesWay) {
    const auto exempting = std::make_shared<config::Snapshot>(*snapshot_);
    exempting->address_limits.exempt = {*base::IpNetwork::parse("10.0.0.1/32")};
    pulls_->reload(snapshot_ = exempting);
    ASSERT_TRUE(ok(ask("early", "", net::Action::kPlay, "10.0.0.2")));
    // All have players, as far as the edge can see.
    std::vector<base::Ref<live::Stream>> streams;
    for (size_t i = 0; i + 1 < PullManager::kMaxWithoutMedia; ++i) {
        const std::string name = "a" + std::to_string(i);
        ASSERT_TRUE(ok(ask(name, "", net::Action::kPlay, "10.0.0.1")));
        streams.push_back(registry_.find_or_create(key(name), live::live_options(vhost())));
        streams.back()->expect_file_players(runtime::now_ms() + 60'000);
    }
    EXPECT_FALSE(ask("refused", "", net::Action::kPlay, "10.0.0.1")) << "the one with most gets no more";
    ASSERT_TRUE(ok(ask("new", "", net::Action::kPlay, "10.0.0.3")));
    EXPECT_NE(find("new"), nullptr);
    EXPECT_NE(find("early"), nullptr) << "though nobody seems to play it: HTTP players wait elsewhere";
    EXPECT_EQ(pulls_->list().size(), PullManager::kMaxWithoutMedia);
    streams.clear();
}

TEST_F(PullsTest, AskForAStreamThatNoOriginHadOnceASecond) {
    runtime::testing::SimulatedTime time;
    ASSERT_TRUE(ok(ask("a")));
    time.pass_ms(100);
    ASSERT_EQ(find("a")->attempts(), 1u) << "at once";
    for (int64_t ms = 0; find("a") && ms < Pull::kUnwatchedMs + 5'000; ms += 100) time.pass_ms(100);
    ASSERT_EQ(find("a"), nullptr) << "it was given up";
    ASSERT_TRUE(ok(ask("a")));
    time.pass_ms(PullManager::kAskAgainMs / 2);
    EXPECT_EQ(find("a")->attempts(), 0u);
    time.pass_ms(PullManager::kAskAgainMs);
    EXPECT_EQ(find("a")->attempts(), 1u);
}

TEST_F(PullsTest, CountNoPullTwiceWhereTheTargetOfARedirectRefuses) {
    relay::testing::FakeServer first, target;
    target.plays = false;
    first.location = "rtmp://" + target.address() + "/live/a";
    pulls_->reload(snapshot_ = with({first.address()}));
    ASSERT_TRUE(ok(ask("a")));
    ASSERT_TRUE(until([&] { return find("a") && find("a")->problem().find("not here") != std::string::npos; }));
    EXPECT_TRUE(find("a")->had_media());
    EXPECT_EQ(health_.state(first.address()).pulls, 0u);
    pulls_->stop();
}

TEST_F(PullsTest, AskAgainForAPlayerWithOtherParametersThanThoseRefused) {
    relay::testing::FakeServer first;
    first.plays = false;
    pulls_->reload(snapshot_ = with({first.address()}));
    ASSERT_TRUE(ok(ask("a")));
    ASSERT_TRUE(until([&] { return pulls_->fetching(key("a")) == Fetching::kRefused; }));
    net::Visitor visitor;
    visitor.vhost = vhost().name;
    visitor.app = "live";
    visitor.stream = "a";
    visitor.param = "?k=v";
    ASSERT_TRUE(ok(gate_.admit(visitor, vhost())));
    EXPECT_EQ(pulls_->fetching(key("a")), Fetching::kAsked);
    ASSERT_TRUE(until([&] { return first.played.back() == "a?k=v"; }));
    pulls_->stop();
}

TEST_F(PullsTest, TellOriginsTheVhostAtConnect) {
    relay::testing::FakeServer first;
    auto edge = std::make_shared<config::Snapshot>(*with({first.address()}));
    edge->vhosts.front().get<VhostConfig>().vhost = "a.com";
    pulls_->reload(snapshot_ = edge);
    ASSERT_TRUE(ok(ask("a")));
    ASSERT_TRUE(until([&] { return !first.played.empty(); }));
    EXPECT_TRUE(first.connects.front().tc_url.starts_with("rtmp://a.com:")) << first.connects.front().tc_url;
    EXPECT_EQ(first.played.front(), "a?vhost=a.com");
    EXPECT_EQ(first.connects.front().forward_path, pulls_->request_name());
    pulls_->stop();
}

// A request that was not admitted by all guards keeps a pull, and begins none.
TEST_F(PullsTest, BeginForAdmittedClientsAlone) {
    net::Visitor visitor;
    visitor.vhost = vhost().name;
    visitor.app = "live";
    visitor.stream = "a";
    ASSERT_TRUE(ok(gate_.check(visitor, vhost())));
    EXPECT_EQ(find("a"), nullptr);
    ASSERT_TRUE(ok(gate_.admit(visitor, vhost())));
    EXPECT_NE(find("a"), nullptr);
}

TEST_F(PullsTest, EndWhereTheVhostIsNoEdgeAnyMore) {
    ASSERT_TRUE(ok(ask("a")));
    EXPECT_EQ(pulls_->fetching(key("a")), Fetching::kAsked);
    pulls_->reload(with({"127.0.0.1:2"}));
    ASSERT_NE(find("a"), nullptr);
    EXPECT_TRUE(until([&] { return find("a")->server() == "127.0.0.1:2"; }));
    pulls_->reload(with({}, "local"));
    EXPECT_EQ(find("a"), nullptr);
    EXPECT_EQ(pulls_->fetching(key("a")), Fetching::kNever);
}

TEST_F(PullsTest, AKeptPullEndsWithTheOtherProcess) {
    ::service::testing::FakeOtherProcess other;
    offers_.other_process = &other;
    offers_.segments.push_back(
        {.name = "hls", .fragment = [](const config::Vhost&) { return 1.0; }, .is_segment = nullptr});
    runtime::testing::SimulatedTime time;
    other.published = {key("a")};
    pulls_->other_process_changed(key("a"));
    ASSERT_NE(find("a"), nullptr) << "what is cut into segments is pulled without players";
    time.pass_ms(3 * Pull::kUnwatchedMs);
    EXPECT_NE(find("a"), nullptr) << "it is kept while the other process publishes it";
    other.published.clear();
    time.pass_ms(2'000);
    EXPECT_EQ(find("a"), nullptr) << "the vhost's origins are not asked for it for ever";
}

TEST_F(PullsTest, AreGivenUpAfterAWhile) {
    runtime::testing::SimulatedTime time;
    ASSERT_TRUE(ok(ask("a")));
    time.pass_ms(Pull::kUnwatchedMs - 2'000);
    EXPECT_NE(find("a"), nullptr);
    time.pass_ms(5'000);
    EXPECT_EQ(find("a"), nullptr);
}

}  // namespace
}  // namespace service::edge

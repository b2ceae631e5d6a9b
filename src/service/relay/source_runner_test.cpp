// The runner in simulated time, with sources and servers of the test.

#include "service/relay/source_runner.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "live/hub/options.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace service::relay {
namespace {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using State = SourceRunner::State;

const live::StreamKey kKey{std::string(config::kDefaultVhost), "live", "s"};

net::SessionType fetch_type() {
    static const net::SessionType kType = net::SessionType::add("test-fetch", true);
    return kType;
}

Result<void> refuses(Fetch&) { return fail(Code::kClosed, "connection refused"); }
Result<void> rejects(Fetch&) { return fail(Code::kRefused, "wrong password"); }
Result<void> says_no(Fetch& fetch) {
    fetch.refused();
    return fail(Code::kNotFound, "status 404");
}
Result<void> sends_nothing(Fetch& fetch) {
    fetch.opened();
    TRY(runtime::sleep_ms(200));
    return fail(Code::kTimeout, "no audio or video");
}
// Sends media until it is to end, or for so long.
std::function<Result<void>(Fetch&)> sends(int64_t ms = 1'000'000'000) {
    return [ms](Fetch& fetch) -> Result<void> {
        fetch.opened();
        fetch.streaming("192.0.2.1", "rtmp://a/live/s", "");
        const auto end = runtime::Deadline::in_ms(ms);
        while (!fetch.is_ending() && !end.passed()) {
            TRY(runtime::sleep_ms(500));
            fetch.check();
        }
        return fail(Code::kClosed, fetch.is_ending() ? fetch.end_text() : "reset");
    };
}

// What servers do, by name.
using Servers = std::map<std::string, std::function<Result<void>(Fetch&)>>;

struct FakeSource final : Source {
    FakeSource(Servers& all, std::string name) : servers(all), server(std::move(name)) {}
    Servers& servers;
    std::string server;
    Result<void> run(Fetch& fetch, runtime::Deadline) override { return servers.at(server)(fetch); }
    // "to-a" redirects to a.
    Result<std::unique_ptr<Source>> redirected() override {
        if (!server.starts_with("to-")) return nullptr;
        return std::make_unique<FakeSource>(servers, server.substr(3));
    }
    const std::string& shown() const override { return server; }
};

struct FakeRunner final : SourceRunner {
    FakeRunner(SourceOwner& owner, Options options, Servers& all, std::vector<std::string> all_names)
        : SourceRunner(owner, std::move(options)), servers(all), names(std::move(all_names)) {}
    Servers& servers;
    std::vector<std::string> names;
    std::string events;

    std::vector<std::string> servers_now(const config::Vhost&) override { return names; }
    Result<std::unique_ptr<Source>> make_source(const std::string& server, const config::Vhost&) override {
        return std::make_unique<FakeSource>(servers, server);
    }
    void on_streaming() override { events += "+" + server() + ";"; }
    void on_streaming_ended() override { events += "-" + server() + ";"; }
    int64_t on_failure(const base::Error& error) override {
        return error.code() == Code::kRefused ? SourceRunner::kLongestPauseMs : 0;
    }
};

class SourceRunnerTest : public runtime::testing::RuntimeTest, private SourceOwner {
  protected:
    void TearDown() override {
        if (runner_) {
            runner_->stop("the test ends", CloseReason::kServerStop);
            while (runner_) runtime::Task(runner_->coroutine()).cancel_and_join();
        }
        EXPECT_EQ(sessions_.size(), 0u);
    }
    FakeRunner& begin(std::vector<std::string> origins, SourceRunner::Options options = {}) {
        options.log_name = "test";
        options.session_type = fetch_type();
        options.key = kKey;
        SourceOwner& owner = *this;
        runner_ = std::make_unique<FakeRunner>(owner, std::move(options), servers_, std::move(origins));
        EXPECT_TRUE(runner_->start());
        return *runner_;
    }
    // A runner that is there whether there are players or not.
    FakeRunner& configure(std::string origin, bool on_demand) {
        return begin({std::move(origin)}, {.on_demand = on_demand, .is_configured = true});
    }
    // A player is there, as far as can be seen, for so long.
    void play(int64_t ms) {
        stream_ = registry_.find_or_create(kKey, live::live_options(snapshot_->vhosts.front()));
        stream_->expect_file_players(runtime::now_ms() + ms);
    }
    // Attempts in that time.
    uint64_t attempts_in(runtime::testing::SimulatedTime& time, int64_t ms) {
        const uint64_t before = runner_->attempts();
        for (int64_t passed = 0; passed < ms; passed += 100) time.pass_ms(100);
        return runner_->attempts() - before;
    }

    config::SnapshotPtr snapshot_ = config::default_snapshot();
    net::SessionTable sessions_;
    live::Registry registry_;
    Servers servers_;
    base::Ref<live::Stream> stream_;
    std::unique_ptr<FakeRunner> runner_;

  private:
    const config::SnapshotPtr& snapshot() const override { return snapshot_; }
    net::SessionTable& sessions() override { return sessions_; }
    live::Registry& registry() override { return registry_; }
    const config::Vhost* fetching(const config::Snapshot& snapshot, std::string_view vhost) const override {
        return snapshot.find_vhost(vhost);
    }
    void source_ended(SourceRunner&) override { runner_.reset(); }
};

TEST_F(SourceRunnerTest, AsksOneServerAfterTheOther) {
    servers_ = {{"a", refuses}, {"b", sends()}};
    runtime::testing::SimulatedTime time;
    FakeRunner& runner = begin({"a", "b"});
    time.pass_ms(10);
    EXPECT_EQ(runner.state(), State::kStreaming);
    EXPECT_EQ(runner.server(), "b");
    EXPECT_EQ(runner.attempts(), 2u);
    EXPECT_EQ(runner.problem(), "");
    EXPECT_EQ(sessions_.size(), 1u);
}

TEST_F(SourceRunnerTest, ErrorsChangeForEachServer) {
    ServerErrors errors;
    EXPECT_TRUE(errors.update("a", "refused"));
    EXPECT_TRUE(errors.update("b", "no answer"));
    EXPECT_FALSE(errors.update("a", "refused")) << "not because another server was asked meanwhile";
    EXPECT_FALSE(errors.update("b", "no answer"));
    EXPECT_EQ(errors.last(), "no answer");
    EXPECT_TRUE(errors.update("a", "no answer"));
    for (int i = 0; i < 100; ++i) errors.update(std::to_string(i), "refused");
    EXPECT_TRUE(errors.clear());
    EXPECT_EQ(errors.last(), "");
    EXPECT_FALSE(errors.clear());
}

TEST_F(SourceRunnerTest, AServerThatIsBackIsFoundWithinASecondWhilePlayersWait) {
    servers_ = {{"a", refuses}};
    runtime::testing::SimulatedTime time;
    FakeRunner& runner = begin({"a"});
    play(1'000'000);
    time.pass_ms(20'000);
    EXPECT_EQ(runner.problem(), "a: connection refused");
    for (int i = 0; i < 20; ++i) EXPECT_GE(attempts_in(time, 1'100), 1u) << i;
    servers_["a"] = sends();
    time.pass_ms(1'000);
    EXPECT_EQ(runner.state(), State::kStreaming);
}

TEST_F(SourceRunnerTest, AStreamThatFlowedIsAskedForAgainAtOnce) {
    servers_ = {{"a", sends(5'000)}};
    runtime::testing::SimulatedTime time;
    FakeRunner& runner = begin({"a"});
    play(1'000'000);
    time.pass_ms(5'100);
    EXPECT_EQ(runner.state(), State::kStreaming);
    EXPECT_EQ(runner.attempts(), 2u);
    servers_["a"] = sends(500);
    time.pass_ms(5'400);
    EXPECT_EQ(runner.state(), State::kPausing) << "not where it flows for a moment";
    EXPECT_EQ(runner.events.substr(0, 12), "+a;-a;+a;-a;");
}

TEST_F(SourceRunnerTest, EndsWithoutPlayers) {
    servers_ = {{"a", sends()}};
    runtime::testing::SimulatedTime time;
    begin({"a"});
    play(60'000);
    time.pass_ms(60'000 + SourceRunner::kUnwatchedMs - 2'000);
    EXPECT_TRUE(runner_);
    time.pass_ms(4'000);
    EXPECT_FALSE(runner_);
}

TEST_F(SourceRunnerTest, IsGivenUpWhenNobodyCame) {
    servers_ = {{"a", refuses}};
    runtime::testing::SimulatedTime time;
    begin({"a"});
    time.pass_ms(SourceRunner::kUnwatchedMs - 1'000);
    EXPECT_TRUE(runner_);
    time.pass_ms(2'000);
    EXPECT_FALSE(runner_);
}

TEST_F(SourceRunnerTest, GivesWayToAPublisherOfThisServer) {
    struct Owner : live::PublicationOwner {
        bool publisher_alive() const override { return true; }
        void publication_revoked(std::string_view, CloseReason) override {}
    } owner;
    servers_ = {{"a", refuses}};
    runtime::testing::SimulatedTime time;
    begin({"a"});
    time.pass_ms(10);
    stream_ = registry_.find_or_create(kKey, live::live_options(snapshot_->vhosts.front()));
    auto publication = stream_->acquire(owner, false);
    ASSERT_TRUE(publication);
    time.pass_ms(1'100);
    EXPECT_FALSE(runner_);
    // A configured one waits for the name.
    servers_["a"] = sends();
    configure("a", false);
    time.pass_ms(100);
    EXPECT_NE(runner_->problem(), "");
    EXPECT_EQ(runner_->state(), State::kPausing);
    publication->end();
    time.pass_ms(5'000);
    EXPECT_EQ(runner_->state(), State::kStreaming);
}

TEST_F(SourceRunnerTest, AConfiguredOneIsTriedLessAndLessWithoutPlayers) {
    servers_ = {{"a", refuses}};
    runtime::testing::SimulatedTime time;
    configure("a", false);
    EXPECT_LE(attempts_in(time, 60'000), 6u);
    EXPECT_LE(attempts_in(time, 100'000), 5u) << "pauses of 22.5 to 37.5 s";
    runner_->want();
    EXPECT_GE(attempts_in(time, 1'100), 1u) << "a player ends the pause";
}

TEST_F(SourceRunnerTest, OneThatRefusesCredentialsIsAskedSeldom) {
    servers_ = {{"a", rejects}};
    runtime::testing::SimulatedTime time;
    configure("a", false);
    play(1'000'000);
    EXPECT_EQ(attempts_in(time, 20'000), 1u) << "whoever waits";
    EXPECT_GE(attempts_in(time, 20'000), 1u);
}

TEST_F(SourceRunnerTest, OneOnDemandIsNotAskedMoreOftenBecausePlayersComeAndGo) {
    servers_ = {{"a", rejects}};
    runtime::testing::SimulatedTime time;
    configure("a", true);
    for (int i = 0; i < 2; ++i) {
        runner_->want();
        EXPECT_EQ(attempts_in(time, SourceRunner::kUnwatchedMs + 1'000), i == 0 ? 1u : 0u);
    }
}

TEST_F(SourceRunnerTest, IsRefusedWhereNoServerOfARoundGivesTheStream) {
    servers_ = {{"away", refuses}, {"no", says_no}, {"silent", sends_nothing}, {"short", sends(100)}};
    const struct {
        std::vector<std::string> servers;
        bool is_refused;
    } rows[] = {
        {{"no"}, true},     {{"silent"}, true}, {{"no", "silent"}, true}, {{"away"}, false}, {{"no", "away"}, false},
        {{"short"}, false}, {{}, true},
    };
    for (const auto& row : rows) {
        runtime::testing::SimulatedTime time;
        FakeRunner& runner = begin(row.servers);
        play(1'000'000);
        bool is_told = false;
        auto waiting = runtime::spawn("player", [&] {
            const auto may_wait = [&] { return !runner.is_refused(); };
            is_told = !stream_->await(live::Awaited::kPublished, runtime::Deadline::in_ms(550), {nullptr, may_wait}) &&
                      runner.is_refused();
        });
        time.pass_ms(500);
        EXPECT_EQ(runner.is_refused(), row.is_refused) << testing::PrintToString(row.servers);
        EXPECT_EQ(is_told, row.is_refused) << testing::PrintToString(row.servers);
        waiting.cancel_and_join();
        runner.stop("the row ends", CloseReason::kServerStop);
        time.pass_ms(10);
        ASSERT_FALSE(runner_);
    }
}

TEST_F(SourceRunnerTest, ARefusalCountsForASecond) {
    servers_ = {{"no", says_no}};
    runtime::testing::SimulatedTime time;
    FakeRunner& runner = begin({"no"});
    time.pass_ms(100);
    EXPECT_TRUE(runner.is_refused());
    servers_["no"] = refuses;
    play(1'000'000);
    time.pass_ms(SourceRunner::kRefusedMs);
    EXPECT_FALSE(runner.is_refused()) << "the server is away now, and may come back";
    servers_["no"] = sends();
    time.pass_ms(1'100);
    EXPECT_EQ(runner.state(), State::kStreaming);
    EXPECT_FALSE(runner.is_refused());
}

TEST_F(SourceRunnerTest, OneOnDemandWaitsForPlayers) {
    servers_ = {{"a", sends()}};
    runtime::testing::SimulatedTime time;
    configure("a", true);
    EXPECT_EQ(attempts_in(time, 60'000), 0u);
    EXPECT_EQ(runner_->state(), State::kIdle);
    for (int i = 0; i < 2; ++i) {
        runner_->want();
        play(30'000);
        time.pass_ms(20'000);
        EXPECT_EQ(runner_->state(), State::kStreaming);
        time.pass_ms(30'000);
        EXPECT_EQ(runner_->state(), State::kIdle);
    }
    EXPECT_EQ(runner_->attempts(), 2u);
    // A player that does not come.
    servers_["a"] = refuses;
    runner_->want();
    time.pass_ms(SourceRunner::kUnwatchedMs - 1'000);
    EXPECT_EQ(runner_->state(), State::kPausing);
    time.pass_ms(2'000);
    EXPECT_EQ(runner_->state(), State::kIdle);
}

TEST_F(SourceRunnerTest, FollowsThreeRedirects) {
    servers_ = {{"a", sends()}, {"to-a", refuses}, {"to-to-a", refuses}, {"to-to-to-a", refuses}};
    servers_["to-to-to-to-a"] = refuses;
    runtime::testing::SimulatedTime time;
    FakeRunner& runner = begin({"to-to-to-to-a", "to-to-to-a"});
    time.pass_ms(10);
    EXPECT_EQ(runner.state(), State::kStreaming);
    EXPECT_EQ(runner.events, "+to-to-to-a;") << "the fourth is not followed";
    runner.stop("enough", CloseReason::kServerStop);
    time.pass_ms(10);
    EXPECT_FALSE(runner_);
}

TEST_F(SourceRunnerTest, AKickedOneComesBack) {
    servers_ = {{"a", sends()}};
    runtime::testing::SimulatedTime time;
    FakeRunner& runner = begin({"a"});
    play(1'000'000);
    time.pass_ms(1'000);
    sessions_.for_each([](net::Session& session) { session.kick("by hand"); });
    time.pass_ms(600);
    EXPECT_EQ(runner.problem(), "a: by hand");
    time.pass_ms(1'000);
    EXPECT_EQ(runner.state(), State::kStreaming);
}

}  // namespace
}  // namespace service::relay

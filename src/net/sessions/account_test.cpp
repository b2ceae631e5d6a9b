#include "net/sessions/account.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "net/sessions/session.h"
#include "runtime/loop/testing.h"

namespace net {
namespace {

class Client final : public Session {
  public:
    Client(SessionTable& table, std::string id, SessionType type) : Session(table, id, "192.0.2.1") { set_type(type); }
    Client(SessionTable& table, std::string id, const Past& past) : Session(table, id, "192.0.2.1", past) {}
    std::string stream_text() const override { return "v/live/s"; }
    Traffic traffic() const override { return bytes; }
    void kick(std::string_view) override {}
    using Session::connects_processes;
    void end() { log_end("the test", base::CloseReason::kPeerClosed); }
    Traffic bytes;
};

using AccountTest = runtime::testing::RuntimeTest;
using runtime::testing::ok;

TEST(RateWindow, IsOfTheLastTwoPeriods) {
    RateWindow window(1'000);
    EXPECT_EQ(window.rates({0, 0}, 1'000).received, 0u);
    EXPECT_EQ(window.rates({1'000, 125}, 2'000).received, 8u);
    EXPECT_EQ(window.rates({1'000, 125}, 2'000).sent, 1u);
    window.begin_period({15'000, 0}, 16'000);
    EXPECT_EQ(window.rates({15'000, 0}, 16'000).received, 8u);
    EXPECT_EQ(window.rates({15'000, 0}, 31'000).received, 4u);
    window.begin_period({15'000, 0}, 31'000);
    EXPECT_EQ(window.rates({15'000, 0}, 31'000).received, 0u) << "older traffic does not count";
}

TEST(StableId, IsTheSameForTheSameNameAndNoOther) {
    EXPECT_EQ(stable_id("a"), stable_id("a"));
    EXPECT_NE(stable_id("a"), stable_id("b"));
    EXPECT_TRUE(stable_id("a").starts_with("vid-"));
    EXPECT_EQ(stable_id("a").size(), 15u);
}

TEST(StreamUrl, HasAVhostUnlessItIsTheDefaultOne) {
    EXPECT_EQ(stream_url({"example.com", "live", "cam"}), "example.com/live/cam");
    EXPECT_EQ(stream_url({"__defaultVhost__", "a/b", "cam"}), "/a/b/cam");
    EXPECT_EQ(reported_param(SessionType::kRtcPublish, "?k=v"), "k=v");
    EXPECT_EQ(reported_param(SessionType::kRtcPlay, ""), "");
    EXPECT_EQ(reported_param(SessionType::kFlvPlay, "?k=v"), "?k=v");
}

TEST_F(AccountTest, WhatConnectsTwoProcessesIsNoClient) {
    SessionTable table;
    Client link(table, "link", SessionType::kNone);
    link.connects_processes();
    link.set_type(SessionType::kRtmpPlay);
    link.enter_stream({"v", "live", "s"}, false);
    link.bytes = {100, 1'000};
    ASSERT_TRUE(ok(table.count()));
    EXPECT_EQ(table.clients_total(), 0u);
    EXPECT_EQ(table.in_streams(SessionType::kRtmpPlay), 0u);
    EXPECT_EQ(table.traffic(), Traffic());
    EXPECT_EQ(table.admission().connections(), 0u);
    EXPECT_EQ(link.stream_account()->players(), 0u);
    EXPECT_EQ(link.stream_account()->traffic(), Traffic());
    link.leave_stream();
    link.end();
    EXPECT_EQ(table.closed().size(), 0u);
}

TEST_F(AccountTest, BytesAreTheStreamsFromItsEntryToItsEnd) {
    SessionTable table;
    Client publisher(table, "pub", SessionType::kFmlePublish), player(table, "play", SessionType::kRtmpPlay);
    publisher.bytes = {3'000, 3'000};
    publisher.enter_stream({"v", "live", "s"}, true);
    player.enter_stream({"v", "live", "s"}, false);
    const StreamAccount* account = table.accounts().find({"v", "live", "s"});
    ASSERT_NE(account, nullptr);
    EXPECT_EQ(account->publisher(), &publisher);
    publisher.bytes = {10'000, 3'016};
    player.bytes = {500, 9'000};
    ASSERT_TRUE(ok(table.count()));
    EXPECT_EQ(account->traffic().received_bytes, 7'000u) << "the handshake and input of players do not count";
    EXPECT_EQ(account->traffic().sent_bytes, 9'016u);
    EXPECT_EQ(table.traffic().received_bytes, 10'500u);
    player.bytes.sent_bytes = 9'500;
    player.leave_stream();
    EXPECT_EQ(account->traffic().sent_bytes, 9'516u);
    EXPECT_EQ(account->vhost().traffic().sent_bytes, 9'516u);
    publisher.leave_stream();
    EXPECT_EQ(table.accounts().find({"v", "live", "s"}), nullptr);
    EXPECT_EQ(table.accounts().find_vhost("v")->traffic().received_bytes, 7'000u) << "a vhost keeps its counters";
}

TEST_F(AccountTest, AnotherPublisherTakesThePlace) {
    SessionTable table;
    Client old(table, "old", SessionType::kFmlePublish), next(table, "next", SessionType::kFmlePublish);
    old.enter_stream({"v", "live", "s"}, true);
    next.enter_stream({"v", "live", "s"}, true);
    old.leave_stream();
    EXPECT_EQ(table.accounts().find({"v", "live", "s"})->publisher(), &next);
}

TEST_F(AccountTest, SessionsInStreamsAreCountedByType) {
    SessionTable table;
    const auto counts = [&] {
        return std::pair(table.in_streams(SessionType::kRtmpPlay), table.in_streams(SessionType::kFmlePublish));
    };
    {
        Client one(table, "1", SessionType::kRtmpPlay), two(table, "2", SessionType::kRtmpPlay);
        EXPECT_EQ(counts(), std::pair(0ul, 0ul)) << "in no stream yet";
        one.enter_stream({"v", "live", "s"}, false);
        two.enter_stream({"v", "live", "s"}, false);
        two.enter_stream({"v", "live", "s"}, false);
        EXPECT_EQ(counts(), std::pair(2ul, 0ul)) << "entering twice counts once";
        two.enter_stream({"v", "live", "other"}, false);
        EXPECT_EQ(counts(), std::pair(2ul, 0ul));
        two.set_type(SessionType::kFmlePublish);
        EXPECT_EQ(counts(), std::pair(1ul, 1ul)) << "a player that publishes instead";
        one.leave_stream();
        one.leave_stream();
        EXPECT_EQ(counts(), std::pair(0ul, 1ul));
    }
    EXPECT_EQ(counts(), std::pair(0ul, 0ul)) << "a session that ends leaves its stream";
}

TEST_F(AccountTest, NamesWithSlashesAreApart) {
    SessionTable table;
    Client one(table, "1", SessionType::kRtmpPlay), two(table, "2", SessionType::kRtmpPlay);
    one.enter_stream({"v", "a/b", "c"}, false);
    two.enter_stream({"v", "a", "b/c"}, false);
    EXPECT_EQ(table.accounts().streams(), 2u);
    EXPECT_NE(one.stream_account()->id(), two.stream_account()->id());
}

TEST_F(AccountTest, CountersMayPassFourGigabytes) {
    SessionTable table;
    Client player(table, "play", SessionType::kRtmpPlay);
    player.enter_stream({"v", "live", "s"}, false);
    uint64_t sent = 0;
    for (int i = 0; i < 5; ++i) {
        player.bytes.sent_bytes = sent += 3'000'000'000;
        ASSERT_TRUE(ok(table.count()));
    }
    EXPECT_EQ(player.stream_account()->traffic().sent_bytes, sent);
}

TEST_F(AccountTest, WhoGoesOnForAnotherIsNotCountedTwice) {
    SessionTable table;
    auto http = std::make_unique<Client>(table, "h", SessionType::kHttp);
    http->bytes = {100, 0};
    Client viewer(table, "h", http->past());
    http.reset();
    viewer.bytes = {100, 5'000};
    viewer.enter_stream({"v", "live", "s"}, false);
    viewer.bytes = {100, 6'000};
    viewer.end();
    EXPECT_EQ(table.traffic().received_bytes, 100u);
    EXPECT_EQ(table.traffic().sent_bytes, 6'000u);
    EXPECT_EQ(viewer.stream_account()->traffic().sent_bytes, 1'000u);
}

TEST_F(AccountTest, TrafficOutsideSessionsIsTheVhostsWhereNobodyIsInTheStream) {
    SessionTable table;
    Accounts& accounts = table.accounts();
    accounts.add({"v", "live", "s"}, {0, 1'000});
    EXPECT_EQ(accounts.streams(), 0u);
    Client player(table, "play", SessionType::kRtmpPlay);
    player.enter_stream({"v", "live", "s"}, false);
    accounts.add({"v", "live", "s"}, {0, 200});
    EXPECT_EQ(player.stream_account()->traffic().sent_bytes, 200u);
    const VhostAccount* vhost = accounts.find_vhost("v");
    ASSERT_NE(vhost, nullptr);
    EXPECT_EQ(vhost->traffic().sent_bytes, 1'200u);
    EXPECT_EQ(vhost->traffic_of(SessionType::kHlsPlay).sent_bytes, 1'200u);
}

// Sessions come and go while a pass yields: each remaining session enters the period exactly once.
TEST_F(AccountTest, PeriodsWhileSessionsComeAndGo) {
    SessionTable table;
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 1'500; ++i) {
        clients.push_back(std::make_unique<Client>(table, std::to_string(i), SessionType::kRtmpPlay));
        clients.back()->enter_stream({"v", "live", "s"}, false);
        clients.back()->bytes.sent_bytes = 1'000;
    }
    auto task = runtime::spawn("churn", [&] {
        for (int i = 0; i < 300; ++i) {
            clients[static_cast<size_t>(i * 5)]->end();
            clients[static_cast<size_t>(i * 5)].reset();
            clients.push_back(std::make_unique<Client>(table, "n" + std::to_string(i), SessionType::kRtmpPlay));
            if (i % 50 == 49) static_cast<void>(runtime::yield());
        }
    });
    ASSERT_TRUE(ok(table.begin_period()));
    task.cancel_and_join();
    ASSERT_TRUE(ok(table.count()));
    EXPECT_EQ(table.traffic().sent_bytes, 1'500'000u);
    EXPECT_EQ(table.accounts().find({"v", "live", "s"})->traffic().sent_bytes, 1'500'000u);
    EXPECT_EQ(table.size(), 1'500u);
}

}  // namespace
}  // namespace net

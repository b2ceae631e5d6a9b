#include "net/sessions/unserved.h"

#include <gtest/gtest.h>

#include <memory>

#include "net/sessions/session.h"

namespace net {
namespace {

struct Player final : Session {
    Player(SessionTable& table, std::string_view id, std::string_view ip) : Session(table, id, ip) {}
    std::string stream_text() const override { return "-"; }
    Traffic traffic() const override { return {}; }
    void kick(std::string_view text) override { why = text; }
    bool is_unserved() const override { return unserved; }
    bool unserved = true;
    std::string why{};
};

struct Unserved : ::testing::Test {
    SessionTable table;
    std::vector<std::unique_ptr<Player>> players;
    Player& add(std::string_view ip, int64_t now_ms) {
        players.push_back(std::make_unique<Player>(table, std::to_string(players.size()), ip));
        table.unserved().add(*players.back(), *base::IpAddress::parse(ip), now_ms);
        return *players.back();
    }
    void TearDown() override {
        for (auto& player : players) table.unserved().remove(*player);
    }
};

TEST_F(Unserved, AnAddressHasALimitAndItsLongestGivesWay) {
    table.unserved().set_limits({.of_address = 2, .exempt = {*base::IpNetwork::parse("127.0.0.0/8")}});
    Player& first = add("192.0.2.1", 0);
    Player& second = add("192.0.2.1", 1);
    Player& other = add("192.0.2.2", 2);
    EXPECT_EQ(first.why, "");
    Player& third = add("192.0.2.1", 3);
    EXPECT_EQ(first.why, "3 players of this address get nothing (address_limits.waiting_players)");
    EXPECT_TRUE(second.why.empty() && third.why.empty() && other.why.empty());
    EXPECT_EQ(table.admission().connections(), 3u);  // it counts no longer, though it exists
    for (int i = 0; i < 5; ++i) EXPECT_EQ(add("127.0.0.1", 4).why, "");
}

TEST_F(Unserved, WhoIsServedAgainStays) {
    table.unserved().set_limits({.of_address = 1});
    Player& first = add("192.0.2.1", 0);
    first.unserved = false;
    Player& second = add("192.0.2.1", 1);
    EXPECT_TRUE(first.why.empty() && second.why.empty());
    EXPECT_EQ(table.unserved().size(), 1u);
}

TEST_F(Unserved, InAllTheAddressWithMostGivesWay) {
    table.unserved().set_limits({.in_all = 3});
    Player& lonely = add("192.0.2.9", 0);
    Player& first = add("192.0.2.1", 1);
    Player& second = add("192.0.2.1", 2);
    Player& another = add("192.0.2.8", 3);
    EXPECT_EQ(first.why, "4 players get nothing (max_waiting_players)");
    EXPECT_TRUE(lonely.why.empty() && second.why.empty() && another.why.empty());
}

TEST_F(Unserved, TheirTimeIsLimited) {
    table.unserved().set_limits({.time_ms = 1'000});
    Player& first = add("192.0.2.1", 0);
    Player& second = add("192.0.2.1", 500);
    table.unserved().check(999);
    EXPECT_EQ(first.why, "");
    table.unserved().check(1'000);
    EXPECT_EQ(first.why, "the player got nothing for 1000 ms (waiting_timeout)");
    EXPECT_EQ(second.why, "");
    second.unserved = false;
    table.unserved().check(9'000);
    EXPECT_EQ(second.why, "");
    EXPECT_EQ(table.unserved().size(), 0u);
}

TEST_F(Unserved, AFullServerClosesOneOfTheAddressWithMost) {
    Player& lonely = add("192.0.2.9", 0);
    Player& first = add("192.0.2.1", 100);
    add("192.0.2.1", 200);
    UnservedSessions& unserved = table.unserved();
    EXPECT_FALSE(unserved.evict_one(999, 1'000));
    EXPECT_TRUE(unserved.evict_one(1'100, 1'000));
    EXPECT_NE(first.why.find("the server is full"), std::string::npos);
    EXPECT_EQ(lonely.why, "");
    EXPECT_EQ(unserved.ended_total(), 1u);
    for (auto& player : players) player->unserved = false;
    EXPECT_FALSE(unserved.evict_one(9'000, 1'000));
}

TEST_F(Unserved, AdmissionAsksThemLast) {
    table.admission().set_options({.max_connections = 1});
    Player& player = add("192.0.2.1", INT64_MIN / 2);
    EXPECT_TRUE(table.admission().expect("192.0.2.7"));
    EXPECT_EQ(player.why, "");
    EXPECT_TRUE(table.admission().admit("192.0.2.7"));
    EXPECT_NE(player.why.find("made room"), std::string::npos);
    players.push_back(std::make_unique<Player>(table, "served", "192.0.2.7"));
    EXPECT_FALSE(table.admission().admit("192.0.2.7"));
}

}  // namespace
}  // namespace net

#include "server/upgrade/closings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace server::upgrade {
namespace {

class ClosingsTest : public testing::Test {
  protected:
    static std::vector<std::string> ids(const std::string& prefix, int count) {
        std::vector<std::string> out;
        for (int i = 0; i < count; ++i) out.push_back(prefix + std::to_string(i));
        return out;
    }
    // Until nobody is left. How many were closed in each round.
    void close_all(int player_count, int publisher_count) {
        players_ = ids("player", player_count);
        publishers_ = ids("publisher", publisher_count);
        for (int64_t late_ms = 0; late_ms <= 3 * kClosingMs; late_ms += kClosingRoundMs) {
            for (const std::string& id : closings(players_, publishers_, late_ms)) {
                const bool is_player = std::erase(players_, id) == 1;
                if (!is_player) {
                    ASSERT_EQ(std::erase(publishers_, id), 1u) << id;
                }
                ++(is_player ? player_rounds_ : publisher_rounds_)[late_ms / kClosingRoundMs];
            }
            if (players_.empty() && publishers_.empty()) return;
        }
        FAIL() << players_.size() << " players and " << publishers_.size() << " publishers are left";
    }
    using Rounds = std::map<int64_t, int>;
    static int largest(const Rounds& rounds) {
        return std::ranges::max_element(rounds, {}, &Rounds::value_type::second)->second;
    }

    std::vector<std::string> players_, publishers_;
    Rounds player_rounds_, publisher_rounds_;
};

TEST_F(ClosingsTest, AreSpreadOverAMinuteEach) {
    close_all(6'000, 600);
    EXPECT_EQ(player_rounds_.size(), 60u);
    EXPECT_EQ(largest(player_rounds_), 100);
    EXPECT_GE(publisher_rounds_.begin()->first, player_rounds_.rbegin()->first) << "players first";
    EXPECT_EQ(publisher_rounds_.size(), 60u);
    EXPECT_EQ(largest(publisher_rounds_), 10);
}

TEST_F(ClosingsTest, OfAFew) {
    close_all(3, 1);
    EXPECT_EQ(largest(player_rounds_), 1);
    EXPECT_EQ(publisher_rounds_.size(), 1u);
}

TEST_F(ClosingsTest, WithoutPlayersPublishersNeedNotWait) {
    close_all(0, 240);
    EXPECT_EQ(publisher_rounds_.begin()->first, 0);
    EXPECT_EQ(publisher_rounds_.size(), 120u);
    EXPECT_EQ(largest(publisher_rounds_), 2);
}

TEST_F(ClosingsTest, WhoComesLateIsClosedAtOnce) {
    EXPECT_EQ(closings({"a", "b"}, {"c", "d"}, 2 * kClosingMs), (std::vector<std::string>{"a", "b", "c", "d"}));
    EXPECT_EQ(closings({}, {}, 0), std::vector<std::string>{});
}

}  // namespace
}  // namespace server::upgrade

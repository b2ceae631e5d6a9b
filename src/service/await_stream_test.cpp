// Players that wait, in simulated time, for streams of which the test says whether they are fetched.

#include "service/await_stream.h"

#include <gtest/gtest.h>

#include <optional>

#include "live/hub/options.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace service {
namespace {

using base::Code;

const live::StreamKey kKey{std::string(config::kDefaultVhost), "live", "s"};

struct Publisher : live::PublicationOwner {
    bool publisher_alive() const override { return true; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
};

class AwaitStreamTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        stream_ = registry_.find_or_create(kKey, live::live_options(snapshot_->vhosts.front()));
        offers_.fetches.push_back([this](const live::StreamKey&) { return fetching_; });
    }
    // A player that waits in a coroutine; "": it still does.
    struct Player {
        std::string answer;
        runtime::Task task;
        ~Player() { task.cancel_and_join(); }
    };
    std::unique_ptr<Player> wait(bool for_publisher = false, int64_t limit_ms = kFetchedWithinMs) {
        auto player = std::make_unique<Player>();
        player->task = runtime::spawn("player", [this, for_publisher, limit_ms, player = player.get()] {
            auto waited = await_stream(*stream_, {.sessions = sessions_,
                                                  .offers = offers_,
                                                  .ip = ip_,
                                                  .may_wait = [this] { return !stopping_; },
                                                  .for_publisher = for_publisher,
                                                  .limit_ms = limit_ms});
            player->answer = waited ? "published" : waited.error().text();
            EXPECT_TRUE(waited || waited.error().code() == Code::kNotFound || runtime::cancelled());
        });
        return player;
    }

    config::SnapshotPtr snapshot_ = config::default_snapshot();
    net::SessionTable sessions_;
    live::Registry registry_;
    Offers offers_;
    base::Ref<live::Stream> stream_;
    Fetching fetching_ = Fetching::kAsked;
    const std::string ip_ = "10.0.0.1";
    bool stopping_ = false;
};

TEST_F(AwaitStreamTest, WhatIsFetchedIsWaitedForAWhile) {
    runtime::testing::SimulatedTime time;
    const auto player = wait();
    time.pass_ms(kFetchedWithinMs - 100);
    EXPECT_EQ(player->answer, "");
    EXPECT_EQ(sessions_.waiting().count(), 1u);
    time.pass_ms(200);
    EXPECT_EQ(player->answer, "the stream did not come from the server that it is fetched from");
    EXPECT_EQ(sessions_.waiting().count(), 0u);
}

TEST_F(AwaitStreamTest, OrUntilItIsPublished) {
    runtime::testing::SimulatedTime time;
    const auto player = wait();
    time.pass_ms(100);
    Publisher owner;
    auto publication = stream_->acquire(owner, false);
    time.pass_ms(10);
    EXPECT_EQ(player->answer, "published");
    sessions_.waiting().set_limits({.of_address = 1, .in_all = 1});
    const auto share = sessions_.waiting().take(ip_, 0);
    const auto late = wait();
    time.pass_ms(10);
    EXPECT_EQ(late->answer, "published") << "without a share: it does not wait";
    publication->end();
}

TEST_F(AwaitStreamTest, ARefusalIsAnsweredAtOnce) {
    runtime::testing::SimulatedTime time;
    const auto player = wait();
    time.pass_ms(100);
    fetching_ = Fetching::kRefused;
    stream_->wake_waiting();
    time.pass_ms(10);
    EXPECT_EQ(player->answer, "the server that it is fetched from does not give the stream");
    const auto later = wait();
    time.pass_ms(10);
    EXPECT_EQ(later->answer, player->answer);
    fetching_ = Fetching::kNever;
    const auto never = wait();
    time.pass_ms(10);
    EXPECT_EQ(never->answer, "the stream is not published");
}

TEST_F(AwaitStreamTest, APlayerThatWaitsForAPublisherWaitsWhateverIsFetched) {
    runtime::testing::SimulatedTime time;
    fetching_ = Fetching::kNever;
    const auto player = wait(true, 30'000), other = wait(true, 60'000);
    time.pass_ms(29'000);
    EXPECT_EQ(player->answer, "");
    time.pass_ms(2'000);
    EXPECT_EQ(player->answer, "the stream is not published");
    EXPECT_EQ(other->answer, "");
    stopping_ = true;
    registry_.wake_waiting();
    time.pass_ms(10);
    EXPECT_EQ(other->answer, "the stream is not published") << "the server stops";
}

TEST_F(AwaitStreamTest, SoManyWaitAndNoMore) {
    runtime::testing::SimulatedTime time;
    sessions_.waiting().set_limits({.of_address = 2, .in_all = 3});
    const auto first = wait(), second = wait();
    time.pass_ms(10);
    const auto third = wait();
    time.pass_ms(10);
    EXPECT_EQ(third->answer, "too many players wait for streams");
    EXPECT_EQ(first->answer, "");
    EXPECT_EQ(sessions_.waiting().counters().refused_address, 1u);
}

}  // namespace
}  // namespace service

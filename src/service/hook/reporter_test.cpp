#include "service/hook/reporter.h"

#include <gtest/gtest.h>

#include "runtime/loop/testing.h"
#include "runtime/socket/tcp.h"
#include "service/hook/config.h"

namespace service::hook {
namespace {

class ReporterTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        hooks().timeout = 5'000;
        hooks().retries = 0;
        listener_ = *runtime::listen_tcp({"127.0.0.1", 0});
    }
    VhostConfig& hooks() { return snapshot_->vhosts.front().get<VhostConfig>(); }
    void add(Reporter& reporter, const std::string& client) {
        std::string url = fmt::format("http://127.0.0.1:{}/hook", listener_->port());
        reporter.add({{Hook::kOnStop, url, "{}"}, client, snapshot_, &hooks()});
    }
    std::shared_ptr<config::Snapshot> snapshot_;
    std::unique_ptr<runtime::TcpListener> listener_;  // accepts no connection: calls time out
    HookStats stats_;
    Caller caller_{stats_};
};

TEST_F(ReporterTest, WhatWaitsIsBoundedAndWhatIsDroppedCounted) {
    Reporter reporter(caller_, stats_);
    for (size_t i = 0; i < Reporter::kMaxWaiting + 5; ++i) add(reporter, std::to_string(i));
    EXPECT_EQ(stats_.at(Hook::kOnStop).dropped, 5u);
    EXPECT_EQ(stats_.queued, Reporter::kMaxWaiting);
    (void)runtime::sleep_ms(20).has_value();
    EXPECT_EQ(stats_.at(Hook::kOnStop).in_flight, Reporter::kQueues);
    reporter.stop(0);
    EXPECT_EQ(stats_.at(Hook::kOnStop).in_flight, 0u);
    EXPECT_EQ(stats_.at(Hook::kOnStop).dropped, Reporter::kMaxWaiting + 5);
    EXPECT_EQ(stats_.queued, 0u);
}

TEST_F(ReporterTest, AHostThatIsSilentIsTriedOnceForEachOfTheOthers) {
    hooks().timeout = 20;
    hooks().retries = 1;
    Reporter reporter(caller_, stats_);
    for (int i = 0; i < 3; ++i) add(reporter, "one");
    reporter.stop(10'000);
    const HookCounters& counters = stats_.at(Hook::kOnStop);
    // The first report is retried; the ones behind it in the failing queue are not.
    EXPECT_EQ(counters.retries, 1u);
    EXPECT_EQ(counters.calls, 4u);
    EXPECT_EQ(counters.failures, 4u);
    EXPECT_EQ(counters.dropped, 3u);
}

}  // namespace
}  // namespace service::hook

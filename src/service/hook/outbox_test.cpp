// The outbox: what waits, in which order it is sent, what is dropped, what outlives a crash.

#include "service/hook/outbox.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "runtime/disk/full_disk_testing.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"
#include "service/hook/hook_server_testing.h"

namespace service::hook {
namespace {

using runtime::testing::ok;
using runtime::testing::SimulatedTime;

const std::string kDown = HookServer::status(503, "");
const std::string kUp = HookServer::status(200, "0");

class OutboxTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        path_ = std::filesystem::temp_directory_path() / ("outbox-" + runtime::new_context_id());
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        hooks().enabled = true;
        hooks().timeout = 2'000;
        hooks().on_stop = hooks().on_unpublish = hooks().on_dvr = {server_.url("hook")};
        begin();
    }
    void TearDown() override {
        outbox_.reset();
        std::filesystem::remove(path_);
    }
    // A run of the server.
    void begin(const std::string& run = "run") {
        outbox_.reset();  // it has the file of the run before
        file_ = std::make_unique<OutboxFile>(path_, run);
        outbox_ = std::make_unique<Outbox>(caller_, stats_, *file_, "server");
        outbox_->reload(snapshot_);
    }
    void open() {
        auto left = file_->open();
        ASSERT_TRUE(ok(left));
        outbox_->restore(std::move(left->reports));
    }
    VhostConfig& hooks() { return snapshot_->vhosts.front().get<VhostConfig>(); }
    const std::string& vhost() { return snapshot_->vhosts.front().name; }
    void add(Hook hook, const std::string& client, const std::string& stream = "live/s", size_t padding = 0) {
        outbox_->add({hook, vhost(),
                      fmt::format(R"({{"action":"{}","client_id":"{}","x":"{}"}})", hook_name(hook), client,
                                  std::string(padding, 'x')),
                      client, stream});
    }
    std::shared_ptr<config::Snapshot> changed() { return std::make_shared<config::Snapshot>(*snapshot_); }
    uint64_t dropped(Drop why) const { return stats_.dropped[static_cast<size_t>(why)]; }
    size_t calls() const { return server_.times.size(); }
    size_t count_of(std::string_view call) const {
        size_t n = 0;
        for (size_t at = 0; (at = server_.calls.find(call, at)) != std::string::npos; ++at) ++n;
        return n;
    }
    // Of the disk, whose threads take real time.
    void wait_written() {
        const uint64_t bytes = file_->bytes();
        for (int i = 0; i < 2'000 && file_->bytes() == bytes; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(1)));
    }

    std::filesystem::path path_;
    HookServer server_;
    std::shared_ptr<config::Snapshot> snapshot_;
    HookStats stats_;
    Caller caller_{stats_};
    std::unique_ptr<OutboxFile> file_;
    std::unique_ptr<Outbox> outbox_;
};

TEST_F(OutboxTest, AReportHasAnIdThatIsItsOwn) {
    SimulatedTime time;
    add(Hook::kOnStop, "a");
    time.pass_ms(10);
    EXPECT_EQ(server_.last_body, R"({"action":"on_stop","client_id":"a","x":"","report_id":"server-run-1"})");
    EXPECT_NE(server_.last_head.find("\r\nX-SRS-Report-Id: server-run-1\r\n"), std::string::npos) << server_.last_head;
    add(Hook::kOnStop, "b");
    time.pass_ms(10);
    EXPECT_EQ(server_.ids, (std::vector<std::string>{"server-run-1", "server-run-2"}));
    EXPECT_EQ(outbox_->waiting(), 0u);
    EXPECT_EQ(outbox_->bytes(), 0u);
}

TEST_F(OutboxTest, ARepeatedReportHasTheSameId) {
    SimulatedTime time;
    server_.answers["hook"] = "";  // what came of it is not known
    add(Hook::kOnStop, "a");
    time.pass_ms(hooks().timeout + 10);
    server_.answers["hook"] = kUp;
    time.pass_ms(2'000);
    EXPECT_EQ(server_.ids, (std::vector<std::string>{"server-run-1", "server-run-1"}));
}

TEST_F(OutboxTest, NothingIsLostWhileTheHostIsAwayAndTheOrderOfAStreamStays) {
    SimulatedTime time;
    server_.answers["hook"] = kDown;
    for (int i = 0; i < 1'000; ++i) {
        const std::string stream = "live/" + std::to_string(i % 10), client = std::to_string(i);
        add(Hook::kOnStop, client, stream);
        add(Hook::kOnDvr, client, stream);
        add(Hook::kOnUnpublish, client, stream);
    }
    time.pass_ms(60'000);
    EXPECT_LE(calls(), 60u) << "one at a time, with pauses, after the first ones";
    EXPECT_EQ(outbox_->waiting(), 3'000u);
    EXPECT_TRUE(outbox_->hosts().at(0).is_down);
    EXPECT_GE(outbox_->hosts().at(0).oldest_ms, 60'000);
    server_.calls.clear();
    server_.ids.clear();
    server_.answers["hook"] = kUp;
    time.pass_ms(60'000);
    EXPECT_EQ(outbox_->waiting(), 0u);
    EXPECT_FALSE(outbox_->hosts().at(0).is_down);
    // Sockets take real time: on a slow machine a few come twice. Numbers of a stream ascend.
    std::map<uint64_t, uint64_t> last;
    std::set<std::string> seen;
    for (const std::string& id : server_.ids) {
        if (!seen.insert(id).second) continue;
        const uint64_t number = std::stoull(id.substr(id.rfind('-') + 1)), stream = (number - 1) / 3 % 10;
        EXPECT_GT(number, last[stream]);
        last[stream] = number;
    }
    EXPECT_EQ(seen.size(), 3'000u) << "none is missing";
    for (const Drop why : {Drop::kFull, Drop::kAge, Drop::kRejected}) EXPECT_EQ(dropped(why), 0u);
}

TEST_F(OutboxTest, SoManyCallsAreUnderWayAsConfigured) {
    SimulatedTime time;
    hooks().outbox_concurrency = 7;
    outbox_->reload(snapshot_);
    server_.answers["hook"] = "";
    for (int i = 0; i < 100; ++i) add(Hook::kOnStop, std::to_string(i));
    time.pass_ms(100);
    EXPECT_EQ(stats_.at(Hook::kOnStop).in_flight, 7u);
    EXPECT_EQ(outbox_->hosts().at(0).in_flight, 7u);
    time.pass_ms(hooks().timeout);
    EXPECT_LT(stats_.at(Hook::kOnStop).in_flight, Breaker::kOpensAfter) << "it is down";
}

TEST_F(OutboxTest, ABatchIsAnArrayOfReportsOfOneUrl) {
    SimulatedTime time;
    hooks().outbox_batch = 10;
    hooks().outbox_concurrency = 1;
    hooks().on_dvr = {server_.url("dvr")};
    outbox_->reload(snapshot_);
    for (int i = 0; i < 25; ++i) add(Hook::kOnStop, std::to_string(i));
    add(Hook::kOnDvr, "d", "live/other");
    time.pass_ms(100);
    EXPECT_EQ(server_.ids.size(), 26u);
    EXPECT_EQ(calls(), 4u);
    EXPECT_EQ(server_.last_body, R"([{"action":"on_dvr","client_id":"d","x":"","report_id":"server-run-26"}])")
        << "also of one it is an array";
}

TEST_F(OutboxTest, WhatHasNoValidAnswerWhileOthersHaveOneIsDropped) {
    SimulatedTime time;
    hooks().retries = 2;
    hooks().on_dvr = {server_.url("broken")};
    outbox_->reload(snapshot_);
    server_.answers["broken"] = HookServer::status(500, "oops");
    add(Hook::kOnDvr, "a", "live/a");
    add(Hook::kOnUnpublish, "a", "live/a");
    for (int i = 0; i < 60; ++i) {
        add(Hook::kOnStop, "p", "live/b");
        time.pass_ms(1'000);
    }
    EXPECT_EQ(dropped(Drop::kRejected), 1u);
    EXPECT_TRUE(server_.calls.contains("hook on_unpublish a;")) << "it waited for on_dvr, and not for ever";
    EXPECT_EQ(outbox_->waiting(), 0u);
    // Alone it is held: the host may be what fails.
    add(Hook::kOnDvr, "c", "live/c");
    time.pass_ms(300'000);
    EXPECT_EQ(outbox_->waiting(), 1u);
}

TEST_F(OutboxTest, AReportThatIsNeverAnsweredWhileOthersAreIsDropped) {
    for (const std::string& answer : {HookServer::status(502, ""), std::string()}) {
        SimulatedTime time;
        hooks().on_dvr = {server_.url("broken")};
        outbox_->reload(snapshot_);
        server_.answers["broken"] = answer;
        server_.calls.clear();
        const uint64_t dropped_before = dropped(Drop::kRejected);
        add(Hook::kOnDvr, "a", "live/a");
        add(Hook::kOnUnpublish, "a", "live/a");
        for (int i = 0; i < 1'200; ++i) {
            add(Hook::kOnStop, "p", "live/b");
            time.pass_ms(250);
        }
        EXPECT_EQ(dropped(Drop::kRejected), dropped_before + 1) << answer;
        EXPECT_EQ(outbox_->waiting(), 0u) << answer;
        EXPECT_TRUE(server_.calls.contains("hook on_unpublish a;")) << "it waits for on_dvr, and not for ever";
        const size_t tries = count_of("broken on_dvr a;");
        EXPECT_GE(tries, 8u) << "a part of the receiver may be away for a minute: " << answer;
        EXPECT_LE(tries, 16u) << answer;
        // Alone it is held: the host may be what fails.
        server_.calls.clear();
        add(Hook::kOnDvr, "c", "live/c");
        time.pass_ms(600'000);
        EXPECT_EQ(outbox_->waiting(), 1u) << answer;
        EXPECT_LE(count_of("broken on_dvr c;"), 40u) << answer;
        server_.answers["broken"] = kUp;
        time.pass_ms(60'000);
        EXPECT_EQ(outbox_->waiting(), 0u) << answer;
    }
}

TEST_F(OutboxTest, WhatWaitsIsBoundedByBytes) {
    SimulatedTime time;
    hooks().outbox_max_size = 1;
    outbox_->reload(snapshot_);
    server_.answers["hook"] = "";
    for (int i = 0; i < 1'000; ++i) add(Hook::kOnStop, std::to_string(i), "live/s", 2'000);
    EXPECT_LE(outbox_->bytes(), size_t{1} << 20);
    EXPECT_GE(outbox_->bytes(), (size_t{1} << 20) - 3'000);
    EXPECT_EQ(dropped(Drop::kFull), 1'000 - outbox_->waiting());
    EXPECT_EQ(stats_.at(Hook::kOnStop).dropped, dropped(Drop::kFull));
    outbox_->stop(0);
    EXPECT_EQ(dropped(Drop::kFull) + dropped(Drop::kStopped), 1'000u);
    EXPECT_EQ(outbox_->bytes(), 0u);
}

TEST_F(OutboxTest, WhatIsTooOldIsDropped) {
    SimulatedTime time;
    hooks().outbox_max_age = 100;
    outbox_->reload(snapshot_);
    server_.answers["hook"] = kDown;
    for (int i = 0; i < 10; ++i) add(Hook::kOnUnpublish, std::to_string(i));
    time.pass_ms(90'000);
    add(Hook::kOnUnpublish, "young");
    EXPECT_EQ(outbox_->waiting(), 11u);
    time.pass_ms(20'000);
    EXPECT_EQ(outbox_->waiting(), 1u);
    EXPECT_EQ(dropped(Drop::kAge), 10u);
}

TEST_F(OutboxTest, ACacheIsFilledNowOrNever) {
    SimulatedTime time;
    hooks().on_hls_notify = {server_.url("[stream]")};
    outbox_->reload(snapshot_);
    outbox_->add_notify(vhost(), 0, server_.url("one"), "c");
    time.pass_ms(10);
    EXPECT_EQ(server_.calls, "one;");
    EXPECT_TRUE(server_.last_head.starts_with("GET /one HTTP/1.1\r\n")) << server_.last_head;
    server_.answers["two"] = "";
    outbox_->add_notify(vhost(), 0, server_.url("two"), "c");
    time.pass_ms(Outbox::kNotifyMaxAgeMs + 10'000);
    EXPECT_EQ(dropped(Drop::kAge), 1u);
}

TEST_F(OutboxTest, WhatWaitsFollowsTheConfiguration) {
    SimulatedTime time;
    HookServer other;
    server_.answers["hook"] = kDown;
    for (int i = 0; i < 20; ++i) add(Hook::kOnUnpublish, std::to_string(i));
    add(Hook::kOnDvr, "d", "live/d");
    time.pass_ms(20'000);
    auto next = changed();
    next->vhosts.front().get<VhostConfig>().on_unpublish = {other.url("new")};
    next->vhosts.front().get<VhostConfig>().on_dvr = {};
    outbox_->reload(next);
    time.pass_ms(40'000);
    EXPECT_EQ(other.ids.size(), 20u);
    EXPECT_TRUE(other.calls.starts_with("new on_unpublish 0;new on_unpublish 1;")) << other.calls;
    EXPECT_EQ(dropped(Drop::kRemoved), 1u);
    EXPECT_EQ(outbox_->waiting(), 0u);
    EXPECT_EQ(outbox_->hosts().size(), 1u) << "the old one is forgotten";
}

TEST_F(OutboxTest, AUrlThatIsAddedInFrontHasItsReportsWhileOthersWait) {
    SimulatedTime time;
    HookServer other;
    server_.answers["hook"] = kDown;
    add(Hook::kOnUnpublish, "early");
    time.pass_ms(20'000);
    auto next = changed();
    auto& urls = next->vhosts.front().get<VhostConfig>().on_unpublish;
    urls = {other.url("new"), server_.url("hook")};
    outbox_->reload(next);
    add(Hook::kOnUnpublish, "x");
    server_.calls.clear();
    server_.answers["hook"] = kUp;
    time.pass_ms(60'000);
    EXPECT_EQ(other.calls, "new on_unpublish x;");
    EXPECT_EQ(server_.calls, "hook on_unpublish early;hook on_unpublish x;");
    // One that is gone and comes back has what was meant for it.
    server_.answers["hook"] = other.answers["new"] = kDown;
    add(Hook::kOnUnpublish, "y");
    for (const auto& now : {std::vector{server_.url("hook")}, {server_.url("hook"), other.url("new")}}) {
        next = std::make_shared<config::Snapshot>(*next);
        next->vhosts.front().get<VhostConfig>().on_unpublish = now;
        outbox_->reload(next);
        time.pass_ms(2'000);
    }
    server_.calls = other.calls = "";
    server_.answers["hook"] = other.answers["new"] = kUp;
    time.pass_ms(60'000);
    EXPECT_EQ(other.calls, "new on_unpublish y;");
    EXPECT_EQ(server_.calls, "hook on_unpublish y;");
}

TEST_F(OutboxTest, AReloadWhileACallIsUnderWay) {
    SimulatedTime time;
    HookServer other;
    server_.answers["hook"] = "";
    for (int i = 0; i < 3; ++i) add(Hook::kOnUnpublish, std::to_string(i));
    add(Hook::kOnDvr, "d", "live/d");
    time.pass_ms(100);  // the first of each stream is under way
    auto next = changed();
    next->vhosts.front().get<VhostConfig>().on_unpublish = {other.url("new")};
    next->vhosts.front().get<VhostConfig>().enabled = true;
    next->vhosts.front().get<VhostConfig>().on_dvr = {};
    outbox_->reload(next);
    time.pass_ms(60'000);
    EXPECT_EQ(other.ids.size(), 3u) << other.calls;
    EXPECT_EQ(dropped(Drop::kRemoved), 1u);
    next = changed();
    next->vhosts.front().get<VhostConfig>().enabled = false;
    outbox_->reload(next);
    add(Hook::kOnUnpublish, "x");
    EXPECT_EQ(outbox_->waiting(), 0u);
}

TEST_F(OutboxTest, TheEndDoesNotWaitForAHostThatIsDown) {
    SimulatedTime time;
    server_.answers["hook"] = kDown;
    for (int i = 0; i < 10; ++i) add(Hook::kOnStop, std::to_string(i));
    time.pass_ms(10'000);
    const int64_t began_ms = runtime::now_ms();
    outbox_->stop(3'000);
    EXPECT_EQ(runtime::now_ms(), began_ms);
    EXPECT_EQ(dropped(Drop::kStopped), 10u);
}

// ---- On disk

TEST_F(OutboxTest, WhatACrashLeavesIsSentByTheNextRunOnce) {
    hooks().outbox = true;
    outbox_->reload(snapshot_);
    open();
    server_.answers["hook"] = kDown;
    for (int i = 0; i < 5; ++i) add(Hook::kOnUnpublish, std::to_string(i));
    wait_written();
    // The run is gone, without a word.
    auto copy = path_;
    copy += ".copy";
    std::filesystem::copy_file(path_, copy);
    outbox_->stop(0);
    outbox_.reset();
    file_->stop();
    std::filesystem::rename(copy, path_);

    server_.calls.clear();
    server_.ids.clear();
    server_.answers["hook"] = kUp;
    begin("next");
    open();
    outbox_->stop(5'000);
    EXPECT_EQ(server_.calls,
              "hook on_unpublish 0;hook on_unpublish 1;hook on_unpublish 2;hook on_unpublish 3;hook on_unpublish 4;");
    EXPECT_EQ(server_.ids.at(0), "server-run-1") << "the id is the same";
    file_->stop();

    begin("third");
    auto left = file_->open();
    ASSERT_TRUE(ok(left));
    EXPECT_EQ(left->reports.size(), 0u);
    EXPECT_EQ(left->run, "next");
    EXPECT_TRUE(left->has_ended);
    EXPECT_GE(left->last_number, 5u) << "numbers are not given again";
    outbox_.reset();
    file_->stop();
}

TEST_F(OutboxTest, WhatIsOnDiskWaitsForTheNextStartAndIsNotDropped) {
    hooks().outbox = true;
    hooks().on_hls_notify = {server_.url("cache")};
    outbox_->reload(snapshot_);
    open();
    server_.answers["hook"] = server_.answers["cache"] = kDown;
    add(Hook::kOnUnpublish, "a");
    outbox_->add_notify(vhost(), 0, server_.url("cache"), "c");
    outbox_->stop(0);
    file_->stop();
    EXPECT_EQ(dropped(Drop::kStopped), 1u) << "on_hls_notify";
    begin("next");
    open();
    EXPECT_EQ(outbox_->waiting(), 1u);
    // A hook that is not configured any more.
    auto next = changed();
    next->vhosts.front().get<VhostConfig>().on_unpublish = {};
    outbox_->reload(next);
    EXPECT_EQ(outbox_->waiting(), 0u);
    EXPECT_EQ(file_->live(), 0u);
    outbox_.reset();
    file_->stop();
}

TEST_F(OutboxTest, WhatTheDiskDidNotTakeIsCountedAsDroppedAtTheEnd) {
    hooks().outbox = true;
    outbox_->reload(snapshot_);
    open();
    server_.answers["hook"] = kDown;
    add(Hook::kOnUnpublish, "a");
    file_->settle();
    {
        const runtime::testing::FullDisk full(std::filesystem::file_size(path_) + 10);
        add(Hook::kOnUnpublish, "b");
        file_->settle();
        add(Hook::kOnUnpublish, "c");
        outbox_->stop(0);  // it is not known yet whether the disk takes c
        EXPECT_EQ(dropped(Drop::kStopped), 2u);
    }
    file_->stop();
    begin("next");
    open();
    EXPECT_EQ(outbox_->waiting(), 1u);
    outbox_.reset();
    file_->stop();
}

TEST_F(OutboxTest, TheAgeGoesOnOverARestart) {
    hooks().outbox = true;
    hooks().outbox_max_age = 3'600;
    outbox_->reload(snapshot_);
    SavedReport old{.number = 1, .run = "run", .made_ms = base::wall_ms() - 3'599'000, .hook = Hook::kOnUnpublish};
    old.vhost = vhost();
    old.body = "{}";
    server_.answers["hook"] = kDown;
    outbox_->restore({old});
    SimulatedTime time;
    EXPECT_EQ(outbox_->waiting(), 1u);
    time.pass_ms(20'000);
    EXPECT_EQ(outbox_->waiting(), 0u);
    EXPECT_EQ(dropped(Drop::kAge), 1u);
}

}  // namespace
}  // namespace service::hook

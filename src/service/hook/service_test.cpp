// What hooks decide and what is reported to them, in simulated time, with a hook server of the test.

#include "service/hook/service.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/disk/blocking_file.h"
#include "runtime/disk/full_disk_testing.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"
#include "service/hook/hook_server_testing.h"

namespace service::hook {
namespace {

using base::CloseReason;
using net::Action;

class HookServiceTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        hooks().enabled = true;
        hooks().timeout = 2'000;
        hooks().retries = 3;
        server_ = std::make_unique<HookServer>();
        path_ = std::filesystem::temp_directory_path() / ("hook-outbox-" + runtime::new_context_id());
        snapshot_->get<ServerConfig>().hook_outbox = path_;
        service_ = std::make_unique<Service>(snapshot_, gate_, events_, registry_, "run");
        EXPECT_TRUE(service_->start());
    }
    void TearDown() override {
        service_.reset();
        server_.reset();
        std::filesystem::remove(path_);
    }
    config::Vhost& vhost() { return snapshot_->vhosts.front(); }
    VhostConfig& hooks() { return vhost().get<VhostConfig>(); }
    net::Visitor visitor(Action action, const std::string& id = "c1") {
        net::Visitor visitor;
        visitor.action = action;
        visitor.id = id;
        visitor.ip = "10.0.0.1";
        visitor.vhost = vhost().name;
        visitor.app = "live";
        visitor.stream = "s";
        return visitor;
    }
    void reload(const config::SnapshotPtr& next) {
        auto commit = service_->prepare(next);
        ASSERT_TRUE(runtime::testing::ok(commit));
        (*commit)();
    }
    // What the gate decides: "" for yes, the error's text for no, and after how long.
    struct Decision {
        std::string no;
        int64_t took_ms;
        net::Grant grant{};
    };
    Decision decide(runtime::testing::SimulatedTime& time, Action action = Action::kPlay) {
        const int64_t began_ms = runtime::now_ms();
        Decision decision{"nothing yet", 0};
        auto task = runtime::spawn("client", [&] {
            auto admitted = gate_.admit(visitor(action), vhost());
            decision.no = admitted ? "" : admitted.error().text();
            decision.took_ms = runtime::now_ms() - began_ms;
            if (admitted) decision.grant = *std::move(admitted);
        });
        for (int i = 0; i < 1'000 && !task.done(); ++i) time.pass_ms(10);
        return decision;
    }

    std::filesystem::path path_;
    std::shared_ptr<config::Snapshot> snapshot_;
    net::Gate gate_;
    live::Events events_;
    live::Registry registry_;
    std::unique_ptr<HookServer> server_;
    std::unique_ptr<Service> service_;
};

TEST_F(HookServiceTest, WhatAnAnswerDecides) {
    const auto status = &HookServer::status;
    const struct {
        const char* name;
        std::string answer;
        std::string no, no_if_open;  // with fail_open
        bool times_out = false;
    } rows[] = {
        {"0", status(200, "0"), "", ""},
        {"code 0", status(201, R"({"code":0})"), "", ""},
        {"code 1", status(200, R"({"code":1})"), "on_play: code 1", "on_play: code 1"},
        {"403", status(403, "0"), "on_play: status 403", "on_play: status 403"},
        {"500", status(500, "0"), "on_play: no valid answer", ""},
        {"302", status(302, "0"), "on_play: no valid answer", ""},
        {"no JSON", status(200, "<html>"), "on_play: no valid answer", ""},
        {"no HTTP", "hello\r\n\r\n", "on_play: no valid answer", ""},
        {"silence", "", "on_play: no answer in time", "", true},
    };
    hooks().on_play = {server_->url("play")};
    for (const auto& row : rows)
        for (const bool is_open : {false, true}) {
            runtime::testing::SimulatedTime time;
            server_->answers["play"] = row.answer;
            hooks().fail_open = is_open ? std::vector<std::string>{"on_play"} : std::vector<std::string>();
            const Decision decision = decide(time);
            EXPECT_EQ(decision.no, is_open ? row.no_if_open : row.no) << row.name << " " << is_open;
            EXPECT_EQ(decision.took_ms >= hooks().timeout, row.times_out) << row.name << " " << decision.took_ms;
            EXPECT_LT(decision.took_ms, hooks().timeout + 100) << row.name;
        }
}

TEST_F(HookServiceTest, AllServersAreAskedInTheirOrderUntilOneRefuses) {
    runtime::testing::SimulatedTime time;
    hooks().on_publish = {server_->url("a"), server_->url("b"), server_->url("c")};
    EXPECT_EQ(decide(time, Action::kPublish).no, "");
    EXPECT_EQ(server_->calls, "a on_publish c1;b on_publish c1;c on_publish c1;");
    server_->calls.clear();
    server_->answers["b"] = HookServer::status(200, "7");
    EXPECT_EQ(decide(time, Action::kPublish).no, "on_publish: code 7");
    EXPECT_EQ(server_->calls, "a on_publish c1;b on_publish c1;");
}

TEST_F(HookServiceTest, WhoIsAskedAndFollowedIsConfigured) {
    hooks().on_play = {server_->url("play")};
    hooks().on_stop = {server_->url("stop")};
    const auto asks = [&](Action action) { return service_->may_yield(action, vhost()); };
    const auto follows = [&](Action action) { return service_->follows(action, vhost()); };
    EXPECT_TRUE(asks(Action::kPlay) && follows(Action::kPlay));
    EXPECT_FALSE(asks(Action::kPublish));
    EXPECT_TRUE(follows(Action::kPublish)) << "for its recordings and segments";
    EXPECT_FALSE(asks(Action::kConnect) || follows(Action::kConnect));
    hooks().enabled = false;
    EXPECT_FALSE(asks(Action::kPlay) || follows(Action::kPlay) || follows(Action::kPublish));
    runtime::testing::SimulatedTime time;
    EXPECT_EQ(decide(time).no, "");
    EXPECT_EQ(server_->calls, "");
}

TEST_F(HookServiceTest, TheEndOfAClientIsReportedWhenItsGrantEnds) {
    runtime::testing::SimulatedTime time;
    hooks().on_play = {server_->url("play")};
    hooks().on_stop = {server_->url("stop")};
    {
        const Decision decision = decide(time);
        time.pass_ms(1'000);
        EXPECT_EQ(server_->calls, "play on_play c1;");
    }
    time.pass_ms(10);
    EXPECT_EQ(server_->calls, "play on_play c1;stop on_stop c1;");
    // One that was refused has no end.
    server_->calls.clear();
    server_->answers["play"] = HookServer::status(200, "1");
    EXPECT_NE(decide(time).no, "");
    time.pass_ms(1'000);
    EXPECT_EQ(server_->calls, "play on_play c1;");
}

TEST_F(HookServiceTest, AClientThatLeavesWhileItIsAskedAboutHasAnEnd) {
    runtime::testing::SimulatedTime time;
    hooks().on_play = {server_->url("play")};
    hooks().on_stop = {server_->url("stop")};
    server_->answers["play"] = "";
    auto task = runtime::spawn("client", [&] { (void)gate_.admit(visitor(Action::kPlay), vhost()).has_value(); });
    time.pass_ms(100);
    task.cancel_and_join();
    time.pass_ms(100);
    EXPECT_EQ(server_->calls, "play on_play c1;stop on_stop c1;") << "the server may have accepted it";
}

TEST_F(HookServiceTest, AReportIsTriedAgainWithGrowingPausesUntilItArrives) {
    runtime::testing::SimulatedTime time;
    hooks().on_stop = {server_->url("stop")};
    server_->answers["stop"] = HookServer::status(503, "");
    service_->left(visitor(Action::kPlay), {});
    time.pass_ms(600'000);
    ASSERT_GE(server_->times.size(), 15u) << "it is not given up";
    EXPECT_LE(server_->times.size(), 40u);
    const int64_t longest_ms = 30'000;
    for (size_t i = 3; i < server_->times.size(); ++i) {
        const int64_t pause_ms = server_->times[i] - server_->times[i - 1];
        EXPECT_LE(pause_ms, longest_ms * 5 / 4 + 50) << i;
        if (i > 9) {
            EXPECT_GE(pause_ms, longest_ms * 3 / 4) << i;
        }
    }
    EXPECT_EQ(service_->stats().at(Hook::kOnStop).dropped, 0u);
    server_->calls.clear();
    server_->answers["stop"] = HookServer::status(200, "0");
    time.pass_ms(40'000);
    EXPECT_EQ(server_->calls, "stop on_stop c1;");
    // A refusal counts as delivered.
    server_->calls.clear();
    server_->answers["stop"] = HookServer::status(404, "");
    service_->left(visitor(Action::kPlay, "c2"), {});
    time.pass_ms(20'000);
    EXPECT_EQ(server_->calls, "stop on_stop c2;");
}

TEST_F(HookServiceTest, AHostThatIsDownIsAskedAboutOneClientAtATime) {
    runtime::testing::SimulatedTime time;
    hooks().on_play = {server_->url("play")};
    server_->answers["play"] = "";
    for (uint32_t i = 0; i < Breaker::kOpensAfter; ++i) EXPECT_EQ(decide(time).no, "on_play: no answer in time");
    // A call finds out; others do not wait for it.
    auto probe = runtime::spawn("client", [&] { (void)gate_.admit(visitor(Action::kPlay), vhost()).has_value(); });
    time.pass_ms(100);
    server_->calls.clear();
    Decision other = decide(time);
    EXPECT_EQ(other.no, "on_play: the hook server is down");
    EXPECT_LE(other.took_ms, 10);
    for (const auto& [policy, no] : {std::pair{"allow", ""}, {"last", "on_play: the hook server is down"}}) {
        hooks().on_failure = policy;
        EXPECT_EQ(decide(time).no, no) << policy;
    }
    EXPECT_EQ(server_->calls, "");
    EXPECT_EQ(service_->stats().not_asked, 3u);
    probe.cancel_and_join();
    // The next one is answered, and so are all.
    server_->answers.clear();
    EXPECT_EQ(decide(time).no, "");
    EXPECT_EQ(decide(time).no, "");
    EXPECT_EQ(server_->calls, "play on_play c1;play on_play c1;");
}

TEST_F(HookServiceTest, WhoWasAdmittedLastContinuesWhileNobodyAnswers) {
    runtime::testing::SimulatedTime time;
    hooks().on_play = {server_->url("play")};
    hooks().on_failure = "last";
    const auto admits = [&](const std::string& param, const std::string& ip) {
        net::Visitor client = visitor(Action::kPlay, "id" + param + ip);
        client.param = param;
        client.ip = ip;
        bool is_admitted = false;
        auto task = runtime::spawn("client", [&] { is_admitted = service_->admit(client, vhost()).has_value(); });
        time.pass_ms(hooks().timeout + 10);
        EXPECT_TRUE(task.done());
        return is_admitted;
    };
    EXPECT_TRUE(admits("?token=a", "10.0.0.1"));
    server_->answers["play"] = HookServer::status(403, "");
    EXPECT_FALSE(admits("?token=b", "10.0.0.1"));
    EXPECT_TRUE((server_->answers["play"] = "").empty());
    EXPECT_TRUE(admits("?token=a", "10.0.0.1"));
    EXPECT_FALSE(admits("?token=b", "10.0.0.1")) << "it was refused";
    EXPECT_FALSE(admits("?token=a", "10.0.0.2")) << "another address";
    EXPECT_FALSE(admits("?token=c", "10.0.0.1")) << "nobody knows it";
    time.pass_ms(RememberedAnswers::kMaxAgeMs);
    EXPECT_FALSE(admits("?token=a", "10.0.0.1")) << "that is too long ago";
}

TEST_F(HookServiceTest, QueriesDoNotWaitForReports) {
    runtime::testing::SimulatedTime time;
    hooks().on_play = {server_->url("play")};
    hooks().on_stop = {server_->url("stop")};
    hooks().outbox_concurrency = 256;
    server_->answers["stop"] = "";
    for (int i = 0; i < 300; ++i) service_->left(visitor(Action::kPlay, std::to_string(i)), {});
    time.pass_ms(100);
    const Decision decision = decide(time);
    EXPECT_EQ(decision.no, "");
    EXPECT_LE(decision.took_ms, 10);
}

TEST_F(HookServiceTest, TheEndOfAPublisherIsReportedBehindItsRecordings) {
    runtime::testing::SimulatedTime time;
    hooks().on_unpublish = {server_->url("unpublish")};
    hooks().on_dvr = {server_->url("dvr")};
    EXPECT_TRUE(service_->admit(visitor(Action::kPublish), vhost()));
    const live::StreamKey key{vhost().name, "live", "s"};
    events_.notify(live::FileEnding{.publisher = "c1"});
    service_->left(visitor(Action::kPublish), {});
    time.pass_ms(EndReports::kMaxWaitMs - 500);
    EXPECT_EQ(server_->calls, "");
    events_.notify(live::RecordingDone{.stream = key, .path = "a.flv", .publisher = "c1"});
    events_.notify(live::FileEnded{.publisher = "c1"});
    time.pass_ms(10);
    EXPECT_EQ(server_->calls, "dvr on_dvr c1;unpublish on_unpublish c1;");
    // A disk that hangs does not suppress it.
    server_->calls.clear();
    events_.notify(live::FileEnding{.publisher = "c2"});
    service_->left(visitor(Action::kPublish, "c2"), {});
    time.pass_ms(EndReports::kMaxWaitMs + 500);
    EXPECT_EQ(server_->calls, "unpublish on_unpublish c2;");
}

TEST_F(HookServiceTest, ReportsGoToTheServersOfTheConfigurationNow) {
    hooks().on_stop = {server_->url("old")};
    runtime::testing::SimulatedTime time;
    auto next = std::make_shared<config::Snapshot>(*snapshot_);
    next->vhosts.front().get<VhostConfig>().on_stop = {server_->url("new")};
    reload(next);
    service_->left(visitor(Action::kPlay), {});
    time.pass_ms(10);
    EXPECT_EQ(server_->calls, "new on_stop c1;");
    next = std::make_shared<config::Snapshot>(*next);
    next->vhosts.front().get<VhostConfig>().enabled = false;
    reload(next);
    service_->left(visitor(Action::kPlay), {});
    time.pass_ms(1'000);
    EXPECT_EQ(server_->calls, "new on_stop c1;");
}

TEST_F(HookServiceTest, AlertsOfAStreamGoToItsVhostAndThoseOfTheServerToAll) {
    runtime::testing::SimulatedTime time;
    auto next = std::make_shared<config::Snapshot>(*snapshot_);
    next->vhosts.push_back(next->vhosts.front());
    next->vhosts.back().name = "other";
    next->vhosts.front().get<VhostConfig>().on_alert = {server_->url("first")};
    next->vhosts.back().get<VhostConfig>().on_alert = {server_->url("second")};
    reload(next);
    service_->report_alert({.kind = AlertKind::kPublisherGone, .stream = {vhost().name, "live", "s"}});
    time.pass_ms(1'000);
    EXPECT_EQ(std::exchange(server_->calls, {}), "first on_alert ;");
    service_->report_alert({.kind = AlertKind::kDisk});
    time.pass_ms(1'000);
    EXPECT_TRUE(server_->calls == "first on_alert ;second on_alert ;" ||
                server_->calls == "second on_alert ;first on_alert ;")
        << server_->calls;
}

TEST_F(HookServiceTest, TheEndOfWhomACrashCutIsReportedByTheNextRun) {
    service_.reset();
    hooks().outbox = true;
    hooks().on_start = {server_->url("start")};
    hooks().on_dvr = {server_->url("dvr")};
    hooks().on_unpublish = hooks().on_stop = hooks().on_close = {server_->url("end")};
    service_ = std::make_unique<Service>(snapshot_, gate_, events_, registry_, "run1");
    EXPECT_TRUE(service_->start());
    for (const Action action : {Action::kConnect, Action::kPublish, Action::kPlay})
        EXPECT_TRUE(service_->admit(visitor(action, "c1"), vhost()));
    EXPECT_TRUE(service_->admit(visitor(Action::kPlay, "c2"), vhost()));
    service_->left(visitor(Action::kPlay, "c2"), {});
    const auto ends = [&] { return std::ranges::count(server_->calls, ';'); };
    for (int i = 0; i < 500 && ends() < 2; ++i) (void)runtime::sleep_ms(10);
    EXPECT_EQ(server_->calls, "start on_start ;end on_stop c2;");
    for (int i = 0; i < 500 && service_->file().live() != 3; ++i) (void)runtime::sleep_ms(10);
    EXPECT_EQ(service_->file().live(), 3u) << "those that are there";
    (void)runtime::sleep_ms(100);  // until it is on disk
    // The process is gone.
    auto copy = path_;
    copy += ".copy";
    std::filesystem::copy_file(path_, copy);
    service_.reset();
    std::filesystem::rename(copy, path_);

    server_->calls.clear();
    service_ = std::make_unique<Service>(snapshot_, gate_, events_, registry_, "run2");
    EXPECT_TRUE(service_->start());
    for (int i = 0; i < 500 && ends() < 4; ++i) (void)runtime::sleep_ms(10);
    for (const char* call : {"start on_start ;", "end on_unpublish c1;", "end on_stop c1;", "end on_close c1;"})
        EXPECT_TRUE(server_->calls.contains(call)) << call << " in " << server_->calls;
    EXPECT_EQ(ends(), 4);
    // The recording of the publisher that was cut.
    server_->calls.clear();
    events_.notify(live::RecordingDone{.stream = {vhost().name, "live", "s"}, .path = "a.flv", .recovered = true});
    events_.notify(live::RecordingDone{.stream = {vhost().name, "live", "x"}, .path = "b.flv", .recovered = true});
    for (int i = 0; i < 500 && ends() < 2; ++i) (void)runtime::sleep_ms(10);
    EXPECT_TRUE(server_->calls.contains("dvr on_dvr c1;")) << server_->calls;
    EXPECT_TRUE(server_->calls.contains("dvr on_dvr ;")) << server_->calls;
    service_.reset();
    server_->calls.clear();
    service_ = std::make_unique<Service>(snapshot_, gate_, events_, registry_, "run3");
    EXPECT_TRUE(service_->start());
    for (int i = 0; i < 500 && ends() < 1; ++i) (void)runtime::sleep_ms(10);
    EXPECT_EQ(server_->calls, "start on_start ;") << "once";
    const auto body = base::parse_json(server_->last_body);
    EXPECT_EQ(body["previous_id"], "run2");
    EXPECT_EQ(body["crashed"], false);
}

TEST_F(HookServiceTest, AnEndThatAFullDiskDidNotTakeIsNotReportedAgain) {
    service_.reset();
    hooks().outbox = true;
    hooks().on_unpublish = {server_->url("end")};
    service_ = std::make_unique<Service>(snapshot_, gate_, events_, registry_, "run1");
    EXPECT_TRUE(service_->start());
    EXPECT_TRUE(service_->admit(visitor(Action::kPublish), vhost()));
    const auto saved = [&] {
        const auto file = runtime::BlockingFile::open(path_, O_RDONLY);
        return file ? read_outbox(file->read_all(1 << 20).value()) : SavedOutbox();
    };
    for (int i = 0; i < 500 && saved().sessions.empty(); ++i) (void)runtime::sleep_ms(10);
    {
        const runtime::testing::FullDisk full(std::filesystem::file_size(path_) + 5);
        service_->left(visitor(Action::kPublish), {});
        for (int i = 0; i < 500 && (server_->calls.empty() || service_->outbox().waiting() > 0); ++i)
            (void)runtime::sleep_ms(10);
        for (int i = 0; i < 500 && service_->file().lost() == 0; ++i) (void)runtime::sleep_ms(10);
        (void)runtime::sleep_ms(100);  // lines that come to nothing
        EXPECT_EQ(saved().sessions.size(), 1u) << "the disk knows of no end";
    }
    // There is room again: the file has what is so, also after a crash.
    EXPECT_TRUE(service_->admit(visitor(Action::kPublish, "c2"), vhost()));
    const auto clients = [&] {
        std::string ids;
        for (const SavedSession& session : saved().sessions) ids += session.visitor.id + " ";
        return ids;
    };
    for (int i = 0; i < 500 && clients() != "c2 "; ++i) (void)runtime::sleep_ms(10);
    EXPECT_EQ(clients(), "c2 ");
    service_->left(visitor(Action::kPublish, "c2"), {});
    service_.reset();
    EXPECT_EQ(server_->calls, "end on_unpublish c1;end on_unpublish c2;");
    service_ = std::make_unique<Service>(snapshot_, gate_, events_, registry_, "run2");
    EXPECT_TRUE(service_->start());
    EXPECT_EQ(service_->outbox().waiting(), 0u);
}

TEST_F(HookServiceTest, AReloadOpensTheFile) {
    hooks().on_unpublish = {server_->url("end")};
    EXPECT_FALSE(service_->file().is_open());
    auto next = std::make_shared<config::Snapshot>(*snapshot_);
    next->vhosts.front().get<VhostConfig>().outbox = true;
    EXPECT_TRUE(runtime::testing::ok(service_->check(next)));
    EXPECT_FALSE(service_->file().is_open());
    EXPECT_FALSE(std::filesystem::exists(path_)) << "a check makes no file";
    reload(next);
    EXPECT_TRUE(service_->file().is_open());
    EXPECT_TRUE(service_->admit(visitor(Action::kPublish), next->vhosts.front()));
    EXPECT_EQ(service_->file().live(), 1u);
    service_->left(visitor(Action::kPublish), {});
    for (int i = 0; i < 500 && service_->file().live() > 0; ++i) (void)runtime::sleep_ms(10);
    EXPECT_EQ(service_->file().live(), 0u);
    // Of another server.
    Service other(snapshot_, gate_, events_, registry_, "other");
    EXPECT_TRUE(runtime::testing::failed_with(other.check(next), base::Code::kBusy));
    auto refused = other.prepare(next);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kBusy) << refused.error().text();
}

TEST_F(HookServiceTest, AFileOfAnotherServerIsTakenOverWhenThatHasEnded) {
    service_.reset();
    hooks().outbox = true;
    hooks().on_unpublish = {server_->url("end")};
    server_->answers["end"] = HookServer::status(503, "");
    auto old = std::make_unique<Service>(snapshot_, gate_, events_, registry_, "old");
    EXPECT_TRUE(old->start());
    service_ = std::make_unique<Service>(snapshot_, gate_, events_, registry_, "new");
    EXPECT_TRUE(service_->start());
    EXPECT_FALSE(service_->file().is_open());
    service_->left(visitor(Action::kPublish, "n1"), {});  // has the number of the next one
    old->left(visitor(Action::kPublish, "o1"), {});
    old.reset();
    for (int i = 0; i < 500 && !service_->file().is_open(); ++i) (void)runtime::sleep_ms(10);
    EXPECT_TRUE(service_->file().is_open());
    service_->left(visitor(Action::kPublish, "n2"), {});
    EXPECT_EQ(service_->outbox().waiting(), 3u);
    EXPECT_EQ(service_->file().live(), 2u);
    server_->calls.clear();
    server_->answers.clear();
    for (int i = 0; i < 1'000 && service_->outbox().waiting() > 0; ++i) (void)runtime::sleep_ms(10);
    for (const char* call : {"end on_unpublish n1;", "end on_unpublish o1;", "end on_unpublish n2;"})
        EXPECT_TRUE(server_->calls.contains(call)) << call << " in " << server_->calls;
    EXPECT_EQ(service_->file().live(), 0u);
}

}  // namespace
}  // namespace service::hook

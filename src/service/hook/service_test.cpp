// What hooks decide and what is reported to them, in simulated time, with a hook server of the test.

#include "service/hook/service.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/tcp.h"

namespace service::hook {
namespace {

using base::CloseReason;
using net::Action;

// Answers each request of a path with what was set for it; "": it never answers.
class HookServer {
  public:
    HookServer() : listener_(*runtime::listen_tcp({"127.0.0.1", 0})) {
        acceptor_ = runtime::spawn("hook-accept", [this] { accept(); });
    }
    ~HookServer() {
        acceptor_.cancel_and_join();
        for (auto& task : tasks_) task.cancel_and_join();
    }
    std::string url(const std::string& path) const {
        return fmt::format("http://127.0.0.1:{}/{}", listener_->port(), path);
    }
    static std::string status(int code, std::string_view body) {
        return fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n\r\n{}", code, body.size(), body);
    }

    std::map<std::string, std::string> answers;  // by path; others are "0"
    std::string calls;                           // "play on_play c1;": path, action and client
    std::vector<int64_t> times;                  // by the loop's clock, of the calls, ms

  private:
    void accept() {
        while (auto socket = listener_->accept(runtime::Deadline::never()))
            tasks_.push_back(runtime::spawn("hook-peer", [this, socket = std::move(*socket)]() mutable {
                while (serve(*socket)) {
                }
            }));
    }
    bool serve(runtime::ByteStream& socket) {
        std::string request;
        size_t end = request.npos, size = 0;
        while (end == request.npos || request.size() < end + size) {
            auto bytes = runtime::read_shared(socket, runtime::Deadline::never());
            if (!bytes || bytes->empty()) return false;
            request.append(bytes->begin(), bytes->end());
            end = request.find("\r\n\r\n");
            if (end == request.npos) continue;
            end += 4;
            const size_t length = request.find("Content-Length: ");
            if (length < end) size = std::stoul(request.substr(length + 16));
        }
        const std::string path = request.substr(request.find('/') + 1, request.find(" HTTP") - request.find('/') - 1);
        const auto body = base::parse_json(request.substr(end));
        times.push_back(runtime::now_ms());
        calls += path + " " + body.value("action", "") + " " + body.value("client_id", "") + ";";
        const auto found = answers.find(path);
        const std::string answer = found == answers.end() ? status(200, "0") : found->second;
        if (answer.empty()) return runtime::sleep_until(runtime::Deadline::never()).has_value();
        return socket
            .write({reinterpret_cast<const uint8_t*>(answer.data()), answer.size()}, runtime::Deadline::never())
            .has_value();
    }

    std::unique_ptr<runtime::TcpListener> listener_;
    std::vector<runtime::Task> tasks_;
    runtime::Task acceptor_;
};

class HookServiceTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        hooks().enabled = true;
        hooks().timeout = 2'000;
        hooks().retries = 3;
        server_ = std::make_unique<HookServer>();
        service_ = std::make_unique<Service>(snapshot_, gate_, events_, registry_, "run");
        EXPECT_TRUE(service_->start());
    }
    void TearDown() override {
        service_.reset();
        server_.reset();
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

TEST_F(HookServiceTest, AReportIsTriedAgainWithGrowingPauses) {
    runtime::testing::SimulatedTime time;
    hooks().on_stop = {server_->url("stop")};
    server_->answers["stop"] = HookServer::status(503, "");
    service_->left(visitor(Action::kPlay), {});
    time.pass_ms(20'000);
    ASSERT_EQ(server_->times.size(), 4u) << "and three retries";
    for (size_t i = 1; i < 4; ++i) {
        const int64_t pause_ms = server_->times[i] - server_->times[i - 1], wanted_ms = 500 << (i - 1);
        EXPECT_GE(pause_ms, wanted_ms * 3 / 4) << i;
        EXPECT_LE(pause_ms, wanted_ms * 5 / 4 + 50) << i;
    }
    EXPECT_EQ(service_->stats().at(Hook::kOnStop).dropped, 1u);
    // A refusal counts as delivered.
    server_->calls.clear();
    server_->answers["stop"] = HookServer::status(404, "");
    service_->left(visitor(Action::kPlay, "c2"), {});
    time.pass_ms(20'000);
    EXPECT_EQ(server_->calls, "stop on_stop c2;");
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
    runtime::testing::SimulatedTime time;
    hooks().on_stop = {server_->url("old")};
    auto next = std::make_shared<config::Snapshot>(*snapshot_);
    next->vhosts.front().get<VhostConfig>().on_stop = {server_->url("new")};
    service_->reload(next);
    service_->left(visitor(Action::kPlay), {});
    time.pass_ms(10);
    EXPECT_EQ(server_->calls, "new on_stop c1;");
    next = std::make_shared<config::Snapshot>(*next);
    next->vhosts.front().get<VhostConfig>().enabled = false;
    service_->reload(next);
    service_->left(visitor(Action::kPlay), {});
    time.pass_ms(1'000);
    EXPECT_EQ(server_->calls, "new on_stop c1;");
}

}  // namespace
}  // namespace service::hook

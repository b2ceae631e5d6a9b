#include "service/heartbeat/service.h"

#include "config/section.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/local_addresses.h"
#include "service/heartbeat/config.h"
#include "service/heartbeat/report.h"

namespace service::heartbeat {
namespace {

using runtime::testing::ok;

std::shared_ptr<config::Snapshot> snapshot() {
    auto s = std::make_shared<config::Snapshot>(*config::default_snapshot());
    s->global.server_id = "srv";
    s->rtmp.listen = {{"", 1935}, {"127.0.0.1", 1936}};
    return s;
}

// A listener of another service.
const config::ListenAddresses kOther{{"", 7}};
const bool kAdded = [] {
    config::add_section({.service = "other",
                         .add_rows = [](std::vector<config::Row>&) {},
                         .listeners = {{"other", "other/listen", "other one", "other", config::Transport::kUdp,
                                        [](const config::Snapshot&) { return &kOther; }}}});
    return true;
}();

TEST(HeartbeatReport, Fields) {
    ASSERT_TRUE(kAdded);
    auto s = snapshot();
    const std::string summaries = R"({"ok":true})";
    const Reporter reporter{"10.0.0.1", "svc", "17"};
    const std::string who = R"("ip":"10.0.0.1","server":"srv","service":"svc","pid":"17")";
    EXPECT_EQ(make_report(*s, reporter, summaries), R"({"device_id":"srv",)" + who + "}");
    s->get<ServerConfig>().device_id = "dev\xff";
    s->get<ServerConfig>().summaries = true;
    EXPECT_EQ(make_report(*s, reporter, summaries),
              "{\"device_id\":\"dev\xef\xbf\xbd\"," + who + R"(,"summaries":{"data":{"ok":true}}})");
    s->get<ServerConfig>() = ServerConfig();
    s->get<ServerConfig>().ports = true;
    s->http_server.enabled = true;
    s->http_server.https.enabled = true;
    s->http_api.enabled = true;
    const std::string ports =
        R"("rtmp":["1935","127.0.0.1:1936"],"http":["8080"],"https":["8088"],"api":["1985"],"other":["7"])";
    EXPECT_EQ(make_report(*s, reporter, summaries),
              R"({"device_id":"srv",)" + who + R"(,"ports":{)" + ports + "}," + ports + "}");
}

TEST(HeartbeatReport, LocalIp) { EXPECT_NE(runtime::local_ip(), ""); }

class HeartbeatTest : public runtime::testing::RuntimeTest {
  protected:
    void start(std::shared_ptr<config::Snapshot> s) {
        auto post = [this](const std::string& url, const std::string& body, const std::string& authorization,
                           runtime::Deadline) -> base::Result<std::string> {
            EXPECT_FALSE(inside_) << "one at a time";
            inside_ = true;
            urls_ += url + ";";
            body_ = body;
            authorization_ = authorization;
            auto slept = runtime::sleep_ms(delay_ms_);
            inside_ = false;
            TRY(std::move(slept));
            if (!problem_.empty()) return base::fail(base::Code::kOther, problem_);
            return std::string("{}");
        };
        service_ = std::make_unique<Service>(
            s, post, [] { return std::string(R"({"ok":true})"); }, "run");
        ASSERT_TRUE(ok(service_->start()));
    }

    runtime::testing::SimulatedTime time_;
    std::unique_ptr<Service> service_;
    bool inside_ = false;
    int delay_ms_ = 0;
    std::string urls_, body_, problem_, authorization_;
};

TEST_F(HeartbeatTest, ReportsEachIntervalOneAtATime) {
    auto s = snapshot();
    s->get<ServerConfig>().enabled = true;
    s->get<ServerConfig>().summaries = true;
    s->get<ServerConfig>().interval = 0.1;
    s->get<ServerConfig>().url = "http://h/x";
    start(s);
    time_.settle();
    EXPECT_EQ(service_->sent(), 1u);
    time_.pass_ms(99);
    EXPECT_EQ(service_->sent(), 1u);
    time_.pass_ms(101);
    EXPECT_EQ(service_->sent(), 3u);
    EXPECT_EQ(urls_, "http://h/x;http://h/x;http://h/x;");
    EXPECT_NE(body_.find(R"("summaries":{"data":{"ok":true}})"), std::string::npos) << body_;
    delay_ms_ = 150;  // longer than the interval
    time_.pass_ms(100 + 149);
    EXPECT_EQ(service_->sent(), 3u);
    time_.pass_ms(1 + 150);
    EXPECT_EQ(service_->sent(), 5u);
    EXPECT_EQ(service_->failed(), 0u);
    problem_ = "nobody there";
    time_.pass_ms(150);
    EXPECT_EQ(service_->sent(), 6u);
    EXPECT_EQ(service_->failed(), 1u);
}

TEST_F(HeartbeatTest, AReloadIsInForceAtOnce) {
    auto s = snapshot();
    s->get<ServerConfig>().interval = 1000;
    start(s);
    time_.pass_ms(5000);
    EXPECT_EQ(service_->sent(), 0u);
    auto on = std::make_shared<config::Snapshot>(*s);
    on->get<ServerConfig>().enabled = true;
    on->get<ServerConfig>().url = "http://a/";
    service_->reload(on);
    time_.settle();
    EXPECT_EQ(service_->sent(), 1u);
    auto moved = std::make_shared<config::Snapshot>(*on);
    moved->get<ServerConfig>().url = "http://b/";
    service_->reload(moved);
    time_.settle();
    EXPECT_EQ(urls_, "http://a/;http://b/;");
    service_->reload(moved);
    service_->reload(s);
    time_.pass_ms(5000);
    EXPECT_EQ(service_->sent(), 2u);
}

// The proxy of SRS 8 asks for it.
TEST_F(HeartbeatTest, TheTokenGoesWithEachReport) {
    auto s = snapshot();
    s->get<ServerConfig>().enabled = true;
    s->get<ServerConfig>().auth = {.enabled = false, .type = "bearer", .token = "a-proxy"};
    start(s);
    time_.settle();
    EXPECT_EQ(service_->sent(), 1u);
    EXPECT_EQ(authorization_, "");
    auto on = std::make_shared<config::Snapshot>(*s);
    on->get<ServerConfig>().auth.enabled = true;
    service_->reload(on);
    time_.pass_ms(10'000);
    EXPECT_GE(service_->sent(), 2u);
    EXPECT_EQ(authorization_, "Bearer a-proxy");
    EXPECT_EQ(body_.find("a-proxy"), std::string::npos);
}

TEST_F(HeartbeatTest, EndsInTheMiddleOfAReport) {
    auto s = snapshot();
    s->get<ServerConfig>().enabled = true;
    delay_ms_ = 60'000;
    start(s);
    time_.pass_ms(59'000);
    EXPECT_NE(urls_, "");
    service_->stop();
    EXPECT_EQ(service_->sent(), 0u);
}

}  // namespace
}  // namespace service::heartbeat

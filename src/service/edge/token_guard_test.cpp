#include "service/edge/token_guard.h"

#include <gtest/gtest.h>

#include <optional>

#include "runtime/loop/simulated_time_testing.h"
#include "service/edge/testing.h"

namespace service::edge {
namespace {

// What an origin is shown must be the vhost and app that the client gets: of another vhost the answer is worth nothing.
TEST(TokenGuard, ShowsTheVhostAndAppThatThePlayerGets) {
    struct Row {
        net::SessionType type;
        const char* tc_url;
        const char* param;
        const char* vhost;  // of the origin
        const char* app;
        const char* want;  // null: refused
    };
    const auto kRtmp = net::SessionType::kRtmp, kFlv = net::SessionType::kFlvPlay, kWhep = net::SessionType::kRtcPlay;
    const char* const kDefault = "__defaultVhost__";
    for (const Row& row : std::initializer_list<Row>{
             // As the client sent it, where that is the vhost.
             {kRtmp, "rtmp://127.0.0.1:1935/live?token=1", "?token=1", kDefault, "live",
              "rtmp://127.0.0.1:1935/live?token=1"},
             {kRtmp, "rtmp://[::1]/live", "", kDefault, "live", "rtmp://[::1]/live"},
             {kRtmp, "rtmp://tok/live?token=1", "?token=1", "tok", "live", "rtmp://tok/live?token=1"},
             {kRtmp, "rtmp://h/live?token=1&vhost=tok", "?token=1", "tok", "live", "rtmp://h/live?token=1&vhost=tok"},
             {kFlv, "rtmp://tok/live", "?vhost=tok&k=1", "tok", "live", "rtmp://tok/live?vhost=tok&k=1"},
             // RTMP's app has parameters that its tcUrl lacks.
             {kRtmp, "rtmp://open/live", "?k=1", "tok", "live", "rtmp://tok/live?k=1"},
             // HTTP takes the first of two, RTMP the last.
             {kFlv, "rtmp://tok/live", "?vhost=tok&vhost=open&k=1", "tok", "live", "rtmp://tok/live?k=1"},
             {kFlv, "rtmp://tok/live", "?domain=open", "tok", "live", "rtmp://tok/live"},
             // The stream's name has it: WHEP, RTSP.
             {kWhep, "rtmp://open/live", "?app=live&stream=s%3Fvhost%3Dtok&vhost=open", "tok", "live",
              "rtmp://tok/live?app=live&stream=s%3Fvhost%3Dtok"},
             // The vhost that is pulled is a fixed one, or the origin may know the host for another.
             {kRtmp, "rtmp://a.com/live", "", "fixed", "live", "rtmp://fixed/live"},
             {kRtmp, "rtmp://a.com/live", "?k=1", kDefault, "live", "rtmp://__defaultVhost__/live?k=1"},
             // Another app.
             {kRtmp, "rtmp://tok/other", "", "tok", "live", "rtmp://tok/live"},
             {kFlv, "rtmp://tok/live?vhost=open", "", "tok", "live?vhost=open", nullptr},
             {kFlv, "rtmp://tok/a...vhost...open", "", "tok", "a...vhost...open", nullptr},
         }) {
        net::Visitor visitor;
        visitor.type = row.type;
        visitor.tc_url = row.tc_url;
        visitor.param = row.param;
        visitor.app = row.app;
        const auto shown = shown_tc_url(visitor, row.vhost);
        EXPECT_EQ(shown.value_or("refused"), row.want ? row.want : "refused") << row.tc_url << row.param;
    }
}

// In simulated time, with origins of the test.
class TokenGuardTest : public testing::EdgeTest {
  protected:
    void SetUp() override {
        EdgeTest::SetUp();
        time_.emplace();
    }
    using FakeServer = relay::testing::FakeServer;
    // What the guard decides about a player: "" for yes, the error's text for no, and after how long.
    struct Decision {
        std::string no = "nothing yet";
        int64_t took_ms = 0;
    };
    Decision decide(std::vector<std::string> origins, net::SessionType type = net::SessionType::kFlvPlay) {
        snapshot_ = with(std::move(origins));
        vhost().get<VhostConfig>().token_traverse = true;
        net::Visitor visitor;
        visitor.type = type;
        visitor.vhost = vhost().name;
        visitor.app = "live";
        visitor.stream = "s";
        visitor.tc_url = "rtmp://127.0.0.1/live";
        visitor.param = "?token=1";
        const int64_t began_ms = runtime::now_ms();
        Decision decision;
        auto task = runtime::spawn("client", [&] {
            auto admitted = guard_.admit(visitor, vhost());
            decision = {admitted ? "" : admitted.error().text(), runtime::now_ms() - began_ms};
        });
        for (int i = 0; i < 1'000 && !task.done(); ++i) time_->pass_ms(10);
        return decision;
    }

    TokenGuard guard_{health_, tls_};
    std::optional<runtime::testing::SimulatedTime> time_;
};

TEST_F(TokenGuardTest, AnOriginDecides) {
    FakeServer accepts, rejects;
    rejects.reject = "a wrong token";
    EXPECT_EQ(decide({accepts.address()}).no, "");
    EXPECT_EQ(accepts.connects.back().tc_url, "rtmp://127.0.0.1/live?token=1");
    EXPECT_EQ(guard_.accepted(), 1u);
    const std::string no = decide({rejects.address()}).no;
    EXPECT_TRUE(no.starts_with("the origin: ") && no.contains("a wrong token")) << no;
    EXPECT_EQ(guard_.refused(), 1u);
    EXPECT_TRUE(health_.is_up(rejects.address(), runtime::now_ms())) << "it works";
}

TEST_F(TokenGuardTest, TheFirstAnswerCounts) {
    FakeServer one, other;
    one.reject = other.reject = "a wrong token";
    EXPECT_NE(decide({one.address(), other.address()}).no, "");
    EXPECT_EQ(one.accepted + other.accepted, 1);
}

TEST_F(TokenGuardTest, OneThatCannotBeAskedIsNoAnswer) {
    FakeServer accepts, silent;
    silent.silent = true;
    EXPECT_EQ(decide({"127.0.0.1:1", accepts.address()}).no, "");
    EXPECT_FALSE(health_.is_up("127.0.0.1:1", runtime::now_ms()));
    const Decision late = decide({silent.address()});
    EXPECT_EQ(late.no, "no origin can be asked (token_traverse)");
    EXPECT_GE(late.took_ms, TokenGuard::kConnectMs);
    EXPECT_LT(late.took_ms, TokenGuard::kConnectMs + 500);
    EXPECT_EQ(decide({"http://127.0.0.1:1"}).no, "no origin can be asked (token_traverse)") << "none takes RTMP";
}

TEST_F(TokenGuardTest, PlayersByRtmpWereAskedAboutWhenTheyConnected) {
    FakeServer rejects;
    rejects.reject = "a wrong token";
    EXPECT_EQ(decide({rejects.address()}, net::SessionType::kRtmpPlay).no, "");
    EXPECT_EQ(rejects.accepted, 0);
}

}  // namespace
}  // namespace service::edge

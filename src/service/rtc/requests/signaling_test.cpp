#include "service/rtc/requests/signaling.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "net/http/http_server.h"
#include "net/http/http_testing.h"
#include "runtime/loop/testing.h"
#include "service/rtc/config.h"

namespace service::rtc {
namespace {

using base::Code;
using base::fail;
using net::testing::RawClient;
using runtime::testing::ok;

const std::string kOffer = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\n";

class FakeSessions : public Sessions {
  public:
    base::Result<Answer> create(SessionRequest ask) override {
        requests.push_back(std::move(ask));
        if (refuse != Code::kOther) return fail(refuse, "because");
        return Answer{requests.back().visitor.id, "token1", "v=0\r\nanswer", "tag1"};
    }
    base::Result<PatchResult> patch(std::string_view session, std::string_view token, std::string_view if_match,
                                    std::string_view fragment) override {
        patched =
            std::string(session) + " " + std::string(token) + " " + std::string(if_match) + " " + std::string(fragment);
        if (refuse != Code::kOther) return fail(refuse, "because");
        if (if_match == "*") return PatchResult{"a=ice-ufrag:new", "tag2"};
        if (if_match != "tag1") return fail(Code::kBusy, "another");
        return PatchResult{};
    }
    base::Result<void> remove(std::string_view session, std::string_view token) override {
        if (session != "s1") return fail(Code::kNotFound, "no such session");
        if (token != "token1") return fail(Code::kRefused, "the token is wrong");
        return {};
    }
    base::Result<void> lose(std::string_view user, uint32_t packets) override {
        if (user != "s1") return fail(Code::kNotFound, "no such session");
        lost = packets;
        return {};
    }
    const std::vector<uint16_t>& udp_ports() const override { return udp; }
    const std::vector<uint16_t>& tcp_ports() const override { return tcp; }

    uint32_t lost = 0;
    std::vector<SessionRequest> requests;
    Code refuse = Code::kOther;
    std::string patched;
    std::vector<uint16_t> udp = {8000}, tcp;
};

class RefusingGuard : public net::Guard {
  public:
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost&) override {
        seen = visitor;
        ++asked;
        if (refuse) return fail(base::CloseReason::kRefusedHook, "the hook says no");
        return {};
    }
    net::Visitor seen;
    int asked = 0;
    bool refuse = false;
};

class SignalingTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        snapshot_->get<ServerConfig>().enabled = true;
        snapshot_->get<ServerConfig>().candidate = {"192.0.2.1"};
        snapshot_->vhosts.front().get<VhostConfig>().enabled = true;
        gate_.add(guard_);
        signaling_ = std::make_unique<Signaling>(snapshot_, sessions_, table_, registry_, gate_, offers_, identity_);
        signaling_->add_routes(router_);
        server_ = std::make_unique<net::HttpServer>(table_, router_, net::HttpServerOptions{});
        ASSERT_TRUE(ok(server_->listen({"127.0.0.1", 0})));
    }
    void TearDown() override {
        server_.reset();
        sessions_.requests.clear();  // they hold shares of the quota, which is the signalling's
        signaling_.reset();
        EXPECT_EQ(table_.size(), 0u);
    }
    net::testing::Answer ask(std::string_view method, std::string_view target, std::string_view fields,
                             std::string_view body) {
        RawClient client(server_->port());
        client.send(fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n{}\r\n{}", method, target,
                                body.size(), fields, body));
        return client.read();
    }
    net::testing::Answer post(std::string_view target, std::string_view fields = "Content-Type: application/sdp\r\n",
                              std::string_view body = kOffer) {
        return ask("POST", target, fields, body);
    }

    std::shared_ptr<config::Snapshot> snapshot_;
    net::SessionTable table_;
    FakeSessions sessions_;
    RefusingGuard guard_;
    live::Registry registry_;
    net::Gate gate_;
    Offers offers_;
    net::HttpRouter router_;
    const Identity identity_;
    std::unique_ptr<Signaling> signaling_;
    std::unique_ptr<net::HttpServer> server_;
};

constexpr std::string_view kWhip = "/rtc/v1/whip/?app=live&stream=a%20b";

TEST_F(SignalingTest, AnOfferIsAnswered) {
    snapshot_->get<ServerConfig>().ice_server = {"stun:stun.example.org", "turn:t.example.org", "user", "pass"};
    auto answer = post("/rtc/v1/whip/?app=live&stream=a%20b&eip=203.0.113.9:99&codec=H265&acodec=opus&k=v");
    EXPECT_EQ(answer.status, 201) << answer.body;
    EXPECT_EQ(answer.body, "v=0\r\nanswer");
    EXPECT_EQ(answer.header("Content-Type"), "application/sdp");
    EXPECT_EQ(answer.header("ETag"), "\"tag1\"");
    ASSERT_EQ(sessions_.requests.size(), 1u);
    const SessionRequest& asked = sessions_.requests[0];
    EXPECT_EQ(answer.header("Location"),
              "/rtc/v1/whip/?action=delete&token=token1&app=live&stream=a%20b&session=" + asked.visitor.id);
    EXPECT_EQ(answer.header("Link"),
              "<stun:stun.example.org>; rel=\"ice-server\", <turn:t.example.org>; rel=\"ice-server\"; "
              "username=\"user\"; credential=\"pass\"; credential-type=\"password\"");
    EXPECT_NE(answer.header("Access-Control-Expose-Headers").find("Location,ETag,Link"), std::string::npos);
    EXPECT_EQ(asked.visitor.action, net::Action::kPublish);
    EXPECT_EQ(asked.visitor.type, net::SessionType::kRtcPublish);
    EXPECT_EQ(asked.visitor.vhost, "__defaultVhost__");
    EXPECT_EQ(asked.visitor.stream, "a b");
    EXPECT_EQ(asked.visitor.param, "?app=live&stream=a%20b&eip=203.0.113.9:99&codec=H265&acodec=opus&k=v");
    EXPECT_EQ(asked.visitor.ip, "127.0.0.1");
    EXPECT_EQ(asked.offer, kOffer);
    EXPECT_EQ(asked.vcodec, "hevc");
    EXPECT_EQ(asked.acodec, "opus");
    EXPECT_EQ(asked.candidates,
              (std::vector<CandidateAddress>{
                  {"203.0.113.9", 99, false}, {"127.0.0.1", 8000, false}, {"192.0.2.1", 8000, false}}));
}

TEST_F(SignalingTest, PlayersComeByTwoPaths) {
    for (const char* path : {"/rtc/v1/whep/", "/rtc/v1/whip-play", "/rtc/v1/whep"}) {
        auto answer =
            post(std::string(path) + "?app=live&stream=a", "Content-Type: Application/SDP; charset=utf-8\r\n");
        EXPECT_EQ(answer.status, 201) << path << answer.body;
        EXPECT_EQ(sessions_.requests.back().visitor.type, net::SessionType::kRtcPlay);
        EXPECT_EQ(sessions_.requests.back().visitor.action, net::Action::kPlay);
    }
}

TEST_F(SignalingTest, ABearerTokenBecomesAParameter) {
    const std::string fields = "Content-Type: application/sdp\r\nAuthorization: bearer  a&b=c \r\n";
    post("/rtc/v1/whip/?app=live&stream=a", fields);
    EXPECT_EQ(guard_.seen.param, "?app=live&stream=a&token=a%26b%3Dc");
    post("/rtc/v1/whip/?app=live&stream=a&token=mine", fields);
    EXPECT_EQ(guard_.seen.param, "?app=live&stream=a&token=mine");
    post("/rtc/v1/whip/?app=live&stream=a",
         "Content-Type: application/sdp\r\nAuthorization: Bearer expires=1&sign=ab\r\n");
    EXPECT_EQ(guard_.seen.param, "?app=live&stream=a&expires=1&sign=ab");
}

TEST_F(SignalingTest, WhatIsWrongIsSaidBeforeAnybodyIsAsked) {
    struct Case {
        std::string target, fields, body;
        int status;
        std::string text;
    };
    const std::string sdp = "Content-Type: application/sdp\r\n", at = "/rtc/v1/whip/?app=live&stream=a";
    const std::string many = [] {
        std::string text = "v=0\r\n";
        for (int i = 0; i < 2000; ++i) text += "m=audio 9 RTP/SAVPF 0\r\n";
        return text;
    }();
    for (const Case& one : std::vector<Case>{{at, "", "offer", 415, "must be SDP"},
                                             {at, "Content-Type: text/plain\r\n", "{}", 415, "must be SDP"},
                                             {"/rtc/v1/whip/?app=live&stream=../x", sdp, kOffer, 400, ""},
                                             {at + "&vcodec=h261", sdp, kOffer, 400, "vcodec: 'h261'"},
                                             {at, sdp, "", 400, "an empty description"},
                                             {at, sdp, "{}", 400, "line 1 is no line of SDP"},
                                             {at, sdp, many, 400, "more than 64 m= lines"},
                                             {at, sdp, std::string(70'000, 'a'), 413, ""}}) {
        auto answer = post(one.target, one.fields, one.body);
        EXPECT_EQ(answer.status, one.status) << one.target << one.fields << answer.body;
        EXPECT_NE(answer.body.find(one.text), std::string::npos) << answer.body;
    }
    EXPECT_EQ(guard_.asked, 0);
    EXPECT_EQ(post(at + "&eip=a/b").status, 400);
    EXPECT_TRUE(sessions_.requests.empty());
}

TEST_F(SignalingTest, WhoMayNotIsRefused) {
    guard_.refuse = true;
    auto answer = post(kWhip);
    EXPECT_EQ(answer.status, 403);
    EXPECT_NE(answer.body.find("the hook says no"), std::string::npos);
    guard_.refuse = false;
    for (auto [code, status] :
         {std::pair(Code::kProtocol, 400), std::pair(Code::kRefused, 403), std::pair(Code::kNotFound, 404),
          std::pair(Code::kBusy, 409), std::pair(Code::kLimit, 503)}) {
        sessions_.refuse = code;
        answer = post(kWhip);
        EXPECT_EQ(answer.status, status);
        EXPECT_NE(answer.body.find("because"), std::string::npos);
    }
}

// http_api { auth { type bearer; rtc_bearer_enabled on; } } of SRS 8.
TEST_F(SignalingTest, TheTokenOfTheApiIsNeededWhereItIsAskedFor) {
    snapshot_->http_api.auth = {.enabled = true, .type = "bearer", .token = "srs-api-token"};
    using namespace std::string_view_literals;
    const std::string sdp = "Content-Type: application/sdp\r\n";
    EXPECT_EQ(post(kWhip, sdp + "Authorization: Bearer camera-7\r\n").status, 201);
    EXPECT_NE(sessions_.requests.at(0).visitor.param.find("token=camera-7"), std::string::npos) << "the stream's";
    snapshot_->http_api.auth.rtc_bearer_enabled = true;
    for (const std::string& wrong : {std::string(), std::string("Authorization: Bearer camera-7\r\n")}) {
        for (std::string_view target :
             {kWhip, "/rtc/v1/whep/?app=live&stream=a"sv, "/rtc/v1/publish/"sv, "/rtc/v1/play/"sv}) {
            auto refused = post(target, sdp + wrong);
            EXPECT_EQ(refused.status, 401) << target;
            EXPECT_EQ(refused.header("WWW-Authenticate"), "Bearer") << target;
        }
        EXPECT_EQ(ask("DELETE", "/rtc/v1/whip/?token=token1&session=s1", wrong, "").status, 401);
        EXPECT_EQ(ask("PATCH", "/rtc/v1/whip/?token=token1&session=s1", wrong, "x").status, 401);
    }
    EXPECT_EQ(ask("OPTIONS", kWhip, "", "").status, 204) << "browsers ask without it";
    const std::string right = "Authorization: Bearer srs-api-token\r\n";
    EXPECT_EQ(post(kWhip, sdp + right).status, 201);
    EXPECT_EQ(sessions_.requests.at(1).visitor.param.find("srs-api-token"), std::string::npos)
        << "hooks and other servers get the stream's parameters";
    EXPECT_EQ(ask("DELETE", "/rtc/v1/whip/?action=delete&token=token1&session=s1", right, "").status, 200);
}

TEST_F(SignalingTest, OnlyWhereItIsSwitchedOn) {
    snapshot_->vhosts.front().get<VhostConfig>().enabled = false;
    EXPECT_EQ(post(kWhip).status, 404);
    snapshot_->vhosts.front().get<VhostConfig>().enabled = true;
    snapshot_->get<ServerConfig>().enabled = false;
    EXPECT_EQ(post(kWhip).status, 404);
    snapshot_->get<ServerConfig>().enabled = true;
    EXPECT_EQ(post(kWhip).status, 201);
    signaling_->stop_accepting();
    auto answer = post(kWhip);
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("Retry-After"), "5");
}

TEST_F(SignalingTest, ASessionIsPatched) {
    const std::string target = "/rtc/v1/whip/?action=delete&token=t&session=s1";
    const std::string type = "Content-Type: application/trickle-ice-sdpfrag\r\n";
    auto answer = ask("PATCH", target, type + "If-Match: \"tag1\"\r\n", "a=end-of-candidates");
    EXPECT_EQ(answer.status, 204);
    EXPECT_EQ(sessions_.patched, "s1 t tag1 a=end-of-candidates");
    answer = ask("PATCH", target, type + "If-Match: *\r\n", "x");
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "a=ice-ufrag:new");
    EXPECT_EQ(answer.header("ETag"), "\"tag2\"");
    EXPECT_EQ(answer.header("Content-Type"), "application/trickle-ice-sdpfrag");
    EXPECT_EQ(ask("PATCH", target, type, "x").status, 428);
    EXPECT_EQ(ask("PATCH", target, type + "If-Match: \"other\"\r\n", "x").status, 412);
    EXPECT_EQ(ask("PATCH", target, type + "If-Match: W/\"tag1\"\r\n", "x").status, 412);
    EXPECT_EQ(ask("PATCH", target, "Content-Type: application/sdp\r\nIf-Match: *\r\n", "x").status, 415);
    sessions_.refuse = Code::kNotFound;
    EXPECT_EQ(ask("PATCH", target, type + "If-Match: *\r\n", "x").status, 404);
}

TEST_F(SignalingTest, ASessionIsEnded) {
    EXPECT_EQ(ask("DELETE", "/rtc/v1/whip/?action=delete&token=token1&app=a&stream=b&session=s1", "", "").status, 200);
    EXPECT_EQ(ask("DELETE", "/rtc/v1/whep/?token=token1&session=s2", "", "").status, 404);
    EXPECT_EQ(ask("DELETE", "/rtc/v1/whep/?token=wrong&session=s1", "", "").status, 403);
    EXPECT_EQ(ask("DELETE", "/rtc/v1/whep/", "", "").status, 404);
}

TEST_F(SignalingTest, OptionsTellWhatIsTaken) {
    auto answer = ask("OPTIONS", kWhip, "Access-Control-Request-Headers: authorization, if-match\r\n", "");
    EXPECT_EQ(answer.status, 204);
    EXPECT_EQ(answer.header("Accept-Post"), "application/sdp");
    EXPECT_EQ(answer.header("Accept-Patch"), "application/trickle-ice-sdpfrag");
    EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "*");
    EXPECT_NE(answer.header("Access-Control-Allow-Methods").find("PATCH"), std::string::npos);
    EXPECT_EQ(answer.header("Access-Control-Allow-Headers"), "authorization, if-match");
    for (const char* method : {"GET", "PUT"}) {
        answer = ask(method, kWhip, "", "");
        EXPECT_EQ(answer.status, 405) << method;
        EXPECT_EQ(answer.header("Allow"), "POST, PATCH, DELETE, OPTIONS");
    }
}

TEST_F(SignalingTest, TheOlderWay) {
    auto json = [&](const char* path, const nlohmann::json& body) {
        auto answer = post(path, "Content-Type: application/json\r\n", body.dump());
        return std::pair(answer.status, nlohmann::json::parse(answer.body, nullptr, false));
    };
    auto [status, body] =
        json("/rtc/v1/play/", {{"api", "http://h:1985/rtc/v1/play/"},
                               {"streamurl", "webrtc://h.example:1990/live/a?vcodec=vp9&eip=203.0.113.3"},
                               {"clientip", "192.0.2.77"},
                               {"sdp", kOffer}});
    EXPECT_EQ(status, 200);
    EXPECT_EQ(body["code"], 0);
    EXPECT_EQ(body["sdp"], "v=0\r\nanswer");
    EXPECT_EQ(body["sessionid"], sessions_.requests.at(0).visitor.id);
    for (const char* name : {"server", "service", "pid"}) EXPECT_TRUE(body[name].is_string()) << name;
    const SessionRequest& asked = sessions_.requests[0];
    EXPECT_EQ(asked.visitor.app, "live");
    EXPECT_EQ(asked.visitor.stream, "a");
    EXPECT_EQ(asked.visitor.ip, "127.0.0.1");
    EXPECT_EQ(asked.visitor.tc_url, "rtmp://h.example/live");
    EXPECT_EQ(asked.visitor.type, net::SessionType::kRtcPlay);
    EXPECT_EQ(asked.vcodec, "vp9");
    EXPECT_EQ(asked.candidates.at(0).host, "203.0.113.3");
    std::tie(status, body) = json("/rtc/v1/publish", {{"streamurl", "webrtc://h/live/a?vhost=v"}, {"sdp", kOffer}});
    EXPECT_EQ(status, 200);
    EXPECT_EQ(sessions_.requests.at(1).visitor.action, net::Action::kPublish);
    for (const nlohmann::json& bad :
         {nlohmann::json(1), nlohmann::json{{"sdp", kOffer}}, nlohmann::json{{"streamurl", "webrtc://h/live/a"}},
          nlohmann::json{{"streamurl", "http:///live/a"}, {"sdp", kOffer}},
          nlohmann::json{{"streamurl", "webrtc://h/"}, {"sdp", kOffer}},
          nlohmann::json{{"streamurl", "webrtc://h/live/a"}, {"sdp", "x"}}}) {
        std::tie(status, body) = json("/rtc/v1/publish/", bad);
        EXPECT_EQ(status, 400) << bad;
        EXPECT_EQ(body["code"], 400) << bad;
        EXPECT_TRUE(body["error"].is_string());
    }
}

TEST_F(SignalingTest, PagesAreThere) {
    for (const char* path : {"/players/whip.html", "/players/whep.html"}) {
        auto answer = ask("GET", path, "", "");
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.header("Content-Type"), "text/html; charset=utf-8");
        EXPECT_NE(answer.body.find("RTCPeerConnection"), std::string::npos);
        EXPECT_EQ(answer.body.find("src="), std::string::npos) << "no third-party resources are loaded";
    }
}

TEST_F(SignalingTest, RowsOfTheApi) {
    net::ApiTable table;
    signaling_->add_rows(table);
    EXPECT_EQ(table.rows.size(), 3u * 4 + 2 + 1);
    for (const net::ApiEndpoint& row : table.rows) {
        const bool is_loss = row.pattern == "/rtc/v1/nack/";
        EXPECT_EQ(row.access, is_loss ? net::ApiAccess::kPrivileged : net::ApiAccess::kOpen);
        EXPECT_EQ(row.debug, is_loss);
    }
}

}  // namespace
}  // namespace service::rtc

#include "protocol/rtsp/client_session.h"

#include <gtest/gtest.h>

namespace rtsp {
namespace {

using Event = ClientSession::Event;
using State = ClientSession::State;
using Fields = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kUrl = "rtsp://cam/stream";
const std::vector<ClientTrack> kTracks{{"rtsp://cam/stream/trackID=1", {}}, {"rtsp://cam/stream/trackID=2", {}}};

ClientOptions options() {
    ClientOptions options;
    options.url = kUrl;
    options.cnonce = "0a4f113b";
    return options;
}

// A conversation: what the client must send next, and what the device answers.
struct Conversation {
    explicit Conversation(const ClientOptions& options = rtsp::options()) : client(options) {}

    // The next request, as "METHOD URL".
    std::string sent() {
        auto message = client.take_request(now_ms);
        if (!message) return "nothing";
        request = *std::move(message);
        return std::string(method_name(request.method)) + " " + request.url;
    }
    std::string field(std::string_view name) const { return std::string(request.headers.get(name)); }

    // The event, or the error's text.
    std::string answer(int status, const Fields& fields = {}, std::string body = {}) {
        Message response;
        response.is_request = false;
        response.status = status;
        if (with_cseq) response.headers.add("CSeq", field("CSeq"));
        for (const auto& [name, value] : fields) response.headers.add(name, value);
        response.body = std::move(body);
        auto event = client.on_response(response, now_ms);
        if (!event) return event.error().text();
        static constexpr const char* kNames[] = {"none",      "described",  "other transport",
                                                 "streaming", "redirected", "ended"};
        return kNames[static_cast<size_t>(*event)];
    }

    void describe(const Fields& fields = {{"Content-Base", "rtsp://cam/stream/"}}) {
        EXPECT_EQ(sent(), "OPTIONS rtsp://cam/stream");
        EXPECT_EQ(answer(200, {{"Public", "OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, TEARDOWN"}}), "none");
        EXPECT_EQ(sent(), "DESCRIBE rtsp://cam/stream");
        EXPECT_EQ(field("Accept"), "application/sdp");
        EXPECT_EQ(answer(200, fields, "v=0\r\n"), "described");
    }
    // Both tracks by TCP, and PLAY.
    void play(const std::string& session = "12345678;timeout=60") {
        describe();
        client.set_up(kTracks, true, "rtsp://cam/stream/");
        for (const char* channels : {"0-1", "2-3"}) {
            EXPECT_TRUE(sent().starts_with("SETUP"));
            EXPECT_EQ(answer(200, {{"Session", session},
                                   {"Transport", std::string("RTP/AVP/TCP;unicast;interleaved=") + channels}}),
                      "none");
        }
        EXPECT_EQ(sent(), "PLAY rtsp://cam/stream/");
        EXPECT_EQ(answer(200), "streaming");
    }

    ClientSession client;
    Message request;
    int64_t now_ms = 1000;
    bool with_cseq = true;
};

TEST(RtspClient, PullsByTcp) {
    Conversation c;
    c.describe();
    EXPECT_EQ(c.client.description(), "v=0\r\n");
    EXPECT_EQ(c.client.base(), "rtsp://cam/stream/");
    EXPECT_EQ(c.sent(), "nothing");
    c.client.set_up(kTracks, true, "rtsp://cam/stream/");
    EXPECT_EQ(c.sent(), "SETUP rtsp://cam/stream/trackID=1");
    EXPECT_EQ(c.field("Transport"), "RTP/AVP/TCP;unicast;interleaved=0-1");
    EXPECT_EQ(c.field("Session"), "");
    EXPECT_EQ(c.answer(200, {{"Session", "77;timeout=30"}, {"Transport", "RTP/AVP/TCP;unicast;interleaved=0-1"}}),
              "none");
    EXPECT_EQ(c.sent(), "SETUP rtsp://cam/stream/trackID=2");
    EXPECT_EQ(c.field("Session"), "77");
    // The device's own channels.
    EXPECT_EQ(c.answer(200, {{"Session", "77"}, {"Transport", "RTP/AVP/TCP;unicast;interleaved=6-7;ssrc=01020304"}}),
              "none");
    EXPECT_EQ(c.sent(), "PLAY rtsp://cam/stream/");
    EXPECT_EQ(c.field("Range"), "npt=0.000-");
    // Media before PLAY's answer has its track already.
    ASSERT_TRUE(c.client.channel(7));
    EXPECT_EQ(c.client.channel(7)->track, 1u);
    EXPECT_TRUE(c.client.channel(7)->rtcp);
    EXPECT_FALSE(c.client.channel(2));
    EXPECT_EQ(
        c.answer(200, {{"RTP-Info", "url=rtsp://cam/stream/trackID=1;seq=5;rtptime=900,url=trackID=2;rtptime=7"}}),
        "streaming");
    ASSERT_EQ(c.client.rtp_info().size(), 2u);
    EXPECT_EQ(c.client.rtp_info()[0].timestamp, 900u);
    EXPECT_EQ(c.client.transport(1)->ssrc, 0x01020304u);
}

TEST(RtspClient, SignsOnceAndIsRefusedTheSecondTime) {
    auto with = options();
    with.credentials = {"ann", "secret"};
    Conversation c(with);
    EXPECT_EQ(c.sent(), "OPTIONS rtsp://cam/stream");
    EXPECT_EQ(c.answer(200), "none");
    EXPECT_EQ(c.sent(), "DESCRIBE rtsp://cam/stream");
    EXPECT_EQ(c.field("Authorization"), "");
    // Both schemes, as Hikvision's cameras offer them.
    const Fields both{{"WWW-Authenticate", "Basic realm=\"IP Camera(C1234)\""},
                      {"WWW-Authenticate", "Digest realm=\"IP Camera(C1234)\", nonce=\"deadbeef\", stale=\"FALSE\""}};
    EXPECT_EQ(c.answer(401, both), "none");
    EXPECT_EQ(c.sent(), "DESCRIBE rtsp://cam/stream");
    EXPECT_TRUE(c.field("Authorization").starts_with("Digest username=\"ann\", realm=\"IP Camera(C1234)\""))
        << c.field("Authorization");
    EXPECT_EQ(c.answer(401, both), "DESCRIBE: 401 Unauthorized: wrong user or password");
    EXPECT_EQ(c.client.state(), State::kEnded);
    EXPECT_EQ(c.sent(), "nothing");

    Conversation without;
    without.sent();
    EXPECT_EQ(without.answer(401, both), "OPTIONS: 401 Unauthorized, and there are no credentials");
    Conversation odd(with);
    odd.sent();
    EXPECT_EQ(odd.answer(401, {{"WWW-Authenticate", "Bearer"}}), "OPTIONS: 401 Unauthorized without Basic or Digest");
}

TEST(RtspClient, ThePasswordIsSentOnlyAsIsAllowed) {
    const Fields basic{{"WWW-Authenticate", "Basic realm=\"cam\""}};
    const Fields both{{"WWW-Authenticate", "Basic realm=\"cam\""},
                      {"WWW-Authenticate", "Digest realm=\"cam\", nonce=\"deadbeef\""}};
    auto with = options();
    with.credentials = {"ann", "secret"};
    with.basic = false;
    Conversation digest(with);
    digest.sent();
    EXPECT_EQ(digest.answer(401, basic),
              "OPTIONS: 401 Unauthorized with Basic alone, which is not allowed here (methods)");
    EXPECT_EQ(digest.sent(), "nothing");
    Conversation offered(with);
    offered.sent();
    EXPECT_EQ(offered.answer(401, both), "none");
    offered.sent();
    EXPECT_TRUE(offered.field("Authorization").starts_with("Digest")) << offered.field("Authorization");
    EXPECT_FALSE(offered.client.uses_basic());
    with.basic = true;
    with.digest = false;
    Conversation plain(with);
    plain.sent();
    EXPECT_EQ(plain.answer(401, both), "none");
    plain.sent();
    EXPECT_TRUE(plain.field("Authorization").starts_with("Basic")) << plain.field("Authorization");
    EXPECT_TRUE(plain.client.uses_basic());
}

TEST(RtspClient, ANonceMayExpireAtAnyRequest) {
    auto with = options();
    with.credentials = {"ann", "secret"};
    Conversation c(with);
    const auto challenge = [](const char* nonce, const char* stale) {
        return Fields{{"WWW-Authenticate",
                       std::string("Digest realm=\"r\", nonce=\"") + nonce + "\", stale=" + stale + ", qop=\"auth\""}};
    };
    c.sent();
    EXPECT_EQ(c.answer(401, challenge("a1", "false")), "none");
    EXPECT_EQ(c.sent(), "OPTIONS rtsp://cam/stream");
    EXPECT_NE(c.field("Authorization").find("nc=00000001"), std::string::npos);
    c.answer(200);
    EXPECT_EQ(c.sent(), "DESCRIBE rtsp://cam/stream");
    EXPECT_NE(c.field("Authorization").find("nc=00000002"), std::string::npos);
    EXPECT_EQ(c.answer(401, challenge("a2", "true")), "none");
    EXPECT_EQ(c.sent(), "DESCRIBE rtsp://cam/stream");
    EXPECT_NE(c.field("Authorization").find("nonce=\"a2\""), std::string::npos);
    EXPECT_EQ(c.answer(401, challenge("a3", "true")), "none");
    c.sent();
    EXPECT_EQ(c.answer(401, challenge("a4", "true")), "DESCRIBE: 401 Unauthorized: wrong user or password");
}

TEST(RtspClient, ContentBaseMayBeMissingOrUseless) {
    struct Row {
        Fields fields;
        const char* base;
    };
    for (const Row& row : std::initializer_list<Row>{
             {{}, kUrl},
             {{{"Content-Location", "rtsp://other/s/"}}, "rtsp://other/s/"},
             {{{"Content-Base", ""}}, kUrl},
             {{{"Content-Base", "/stream/"}}, kUrl},
             {{{"Content-Base", "RTSP://cam/s "}}, "RTSP://cam/s"},
         }) {
        Conversation c;
        c.describe(row.fields);
        EXPECT_EQ(c.client.base(), row.base);
    }
}

TEST(RtspClient, FallsBackToUdp) {
    Conversation c;
    c.describe();
    c.client.set_up(kTracks, true, kUrl);
    c.sent();
    EXPECT_EQ(c.answer(461), "other transport");
    std::vector<ClientTrack> tracks = kTracks;
    tracks[0].client_ports = {5000, 5001};
    tracks[1].client_ports = {5002, 5003};
    c.client.set_up(tracks, false, kUrl);
    EXPECT_EQ(c.sent(), "SETUP rtsp://cam/stream/trackID=1");
    EXPECT_EQ(c.field("Transport"), "RTP/AVP;unicast;client_port=5000-5001");
    EXPECT_EQ(
        c.answer(200, {{"Session", "1"}, {"Transport", "RTP/AVP;unicast;client_port=5000-5001;server_port=6970-6971"}}),
        "none");
    EXPECT_EQ(c.client.transport(0)->server_port, (Ports{6970, 6971}));
    EXPECT_FALSE(c.client.channel(0));
    // The second track is refused: the first one is given back before another try.
    c.sent();
    EXPECT_EQ(c.answer(461), "none");
    EXPECT_EQ(c.sent(), "TEARDOWN rtsp://cam/stream");
    EXPECT_EQ(c.field("Session"), "1");
    EXPECT_EQ(c.answer(200), "other transport");
    EXPECT_EQ(c.client.state(), State::kDescribed);
    EXPECT_EQ(c.client.transport(0), nullptr);
}

TEST(RtspClient, AnAnswerOfTheOtherKindIsARefusal) {
    Conversation c;
    c.describe();
    c.client.set_up(kTracks, true, kUrl);
    c.sent();
    EXPECT_EQ(c.answer(200, {{"Session", "1"}, {"Transport", "RTP/AVP;unicast;server_port=6970-6971"}}), "none");
    EXPECT_EQ(c.sent(), "TEARDOWN rtsp://cam/stream");
    EXPECT_EQ(c.answer(454), "other transport");
}

TEST(RtspClient, IncompleteAnswersToSetup) {
    Conversation c;
    c.describe();
    c.client.set_up(kTracks, true, kUrl);
    c.with_cseq = false;
    c.sent();
    EXPECT_EQ(c.answer(200), "none");  // neither Session nor Transport: what was asked for
    ASSERT_TRUE(c.client.channel(1));
    EXPECT_TRUE(c.client.channel(1)->rtcp);
    c.sent();
    EXPECT_EQ(c.answer(200, {{"Transport", "RTP/AVP/TCP;interleaved=0-1"}}), "SETUP: two tracks have the same channel");

    for (const auto& [fields, text] : std::vector<std::pair<Fields, std::string>>{
             {{{"Transport", "RTP/AVP/TCP;interleaved=256-257"}}, "SETUP: Transport: interleaved=256-257 is invalid"},
             {{{"Session", " "}}, "SETUP: Session: no valid identifier"}}) {
        Conversation other;
        other.describe();
        other.client.set_up(kTracks, true, kUrl);
        other.sent();
        EXPECT_EQ(other.answer(200, fields), text);
    }
}

TEST(RtspClient, KeepsASessionAliveAtHalfItsTimeout) {
    Conversation c;
    c.play("9;timeout=20");
    EXPECT_EQ(c.client.keep_alive_ms(), 10'000);
    c.now_ms += 9'999;
    ASSERT_TRUE(c.client.on_timer(c.now_ms));
    EXPECT_EQ(c.sent(), "nothing");
    c.now_ms += 1;
    ASSERT_TRUE(c.client.on_timer(c.now_ms));
    EXPECT_EQ(c.sent(), "GET_PARAMETER rtsp://cam/stream/");
    EXPECT_EQ(c.field("Session"), "9");
    EXPECT_EQ(c.answer(501), "none");  // although it was announced
    c.now_ms += 10'000;
    ASSERT_TRUE(c.client.on_timer(c.now_ms));
    EXPECT_EQ(c.sent(), "OPTIONS rtsp://cam/stream");
    // Not answered while media flows: asked again, and the late answer is ignored.
    const Message late = c.request;
    c.now_ms += 10'001;
    ASSERT_TRUE(c.client.on_timer(c.now_ms));
    EXPECT_EQ(c.sent(), "OPTIONS rtsp://cam/stream");
    EXPECT_EQ(c.answer(200), "none");
    EXPECT_EQ(c.client.state(), State::kStreaming);
    c.now_ms += 10'000;
    ASSERT_TRUE(c.client.on_timer(c.now_ms));
    c.sent();
    EXPECT_EQ(c.answer(454), "OPTIONS: 454 Session Not Found");
}

TEST(RtspClient, PushesByAnnounceAndRecord) {
    auto push = options();
    push.description = "v=0\r\n";
    push.via = "RTSP/1.0 one";
    Conversation c(push);
    c.sent();
    EXPECT_EQ(c.answer(404), "none");  // OPTIONS of a stream that is not there yet
    EXPECT_EQ(c.sent(), "ANNOUNCE rtsp://cam/stream");
    EXPECT_EQ(c.field("Via"), "RTSP/1.0 one");
    EXPECT_EQ(c.request.body, "v=0\r\n");
    EXPECT_EQ(c.field("Content-Type"), "application/sdp");
    EXPECT_EQ(c.answer(200, {{"Session", "5"}}), "described");
    c.client.set_up({{"rtsp://cam/stream/streamid=0", {}}}, true, kUrl);
    EXPECT_EQ(c.sent(), "SETUP rtsp://cam/stream/streamid=0");
    EXPECT_EQ(c.field("Session"), "5");  // which some servers give with ANNOUNCE
    EXPECT_EQ(c.field("Transport"), "RTP/AVP/TCP;unicast;interleaved=0-1;mode=record");
    EXPECT_EQ(c.answer(200, {{"Session", "5"}}), "none");
    EXPECT_EQ(c.sent(), "RECORD rtsp://cam/stream");
    EXPECT_EQ(c.answer(200), "streaming");
    c.client.end();
    EXPECT_EQ(c.sent(), "TEARDOWN rtsp://cam/stream");
    EXPECT_EQ(c.answer(200), "ended");
}

TEST(RtspClient, AnnouncesAgainForTheOtherTransport) {
    auto push = options();
    push.description = "v=0\r\n";
    Conversation c(push);
    c.sent();
    c.answer(200);
    c.sent();
    EXPECT_EQ(c.answer(200, {{"Session", "5"}}), "described");
    c.client.set_up(kTracks, true, kUrl);
    c.sent();
    EXPECT_EQ(c.answer(461), "other transport");  // nothing was set up: the announcement is still valid
    c.client.set_up(kTracks, false, kUrl);
    c.sent();
    EXPECT_EQ(c.answer(200), "none");
    c.sent();
    EXPECT_EQ(c.answer(461), "none");
    EXPECT_EQ(c.sent(), "TEARDOWN rtsp://cam/stream");
    EXPECT_EQ(c.answer(200), "none");
    EXPECT_EQ(c.sent(), "ANNOUNCE rtsp://cam/stream");
    EXPECT_EQ(c.field("Session"), "");
    EXPECT_EQ(c.answer(200), "other transport");
}

TEST(RtspClient, ErrorsNameTheRequest) {
    Conversation missing;
    missing.sent();
    missing.answer(200);
    missing.sent();
    EXPECT_EQ(missing.answer(404), "DESCRIBE: 404 Not Found");
    Conversation moved;
    moved.sent();
    moved.answer(200);
    moved.sent();
    EXPECT_EQ(moved.answer(302, {{"Location", "rtsp://other/stream"}}), "redirected");
    EXPECT_EQ(moved.client.location(), "rtsp://other/stream");
    Conversation nowhere;
    nowhere.sent();
    nowhere.answer(200);
    nowhere.sent();
    EXPECT_EQ(nowhere.answer(302, {{"Location", "http://other/"}}), "DESCRIBE: 302 Moved Temporarily without a URL");
    Conversation silent;
    silent.sent();
    EXPECT_TRUE(silent.client.on_timer(silent.now_ms + 10'000));
    auto late = silent.client.on_timer(silent.now_ms + 10'001);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), base::Code::kTimeout);
    EXPECT_EQ(late.error().text(), "OPTIONS: no answer for 10000 ms");
}

TEST(RtspClient, AnswersRequestsOfTheServer) {
    Conversation c;
    c.play();
    const auto ask = [&](Method method) {
        Message request;
        request.method = method;
        request.headers.add("CSeq", "31");
        return c.client.on_request(request);
    };
    EXPECT_EQ(ask(Method::kOptions).headers.get("CSeq"), "31");
    EXPECT_EQ(ask(Method::kGetParameter).status, 200);
    EXPECT_EQ(ask(Method::kDescribe).status, 501);
    EXPECT_EQ(c.client.state(), State::kStreaming);
    EXPECT_EQ(ask(Method::kTeardown).status, 200);
    EXPECT_EQ(c.client.state(), State::kEnded);
    EXPECT_EQ(c.answer(200), "none");
    c.client.end();
    EXPECT_EQ(c.sent(), "nothing");
}

}  // namespace
}  // namespace rtsp

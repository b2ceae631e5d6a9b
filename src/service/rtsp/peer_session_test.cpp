// The conversation with a server whose answers are the test's.

#include "service/rtsp/peer_session.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/loop/testing.h"
#include "runtime/socket/tcp.h"

namespace service::rtsp {
namespace {

using base::CloseReason;
using base::Result;
using runtime::testing::ok;

class PeerSessionTest : public runtime::testing::RuntimeTest, private PeerUser {
  protected:
    void connect(PeerSession::Transports transports = {}) {
        listener_ = *runtime::listen_tcp({"127.0.0.1", 0});
        const auto url = ::rtsp::parse_url(fmt::format("rtsp://u:p@127.0.0.1:{}/s", listener_->port()));
        ASSERT_TRUE(ok(url));
        ASSERT_TRUE(ok(peer_.connect(*url, {}, transports, nullptr, runtime::Deadline::in_ms(5'000))));
    }
    Result<void> take(std::string_view bytes) {
        return peer_.take({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    }
    // Answers the request that is to be sent: its method, and the error that follows.
    std::string answer(int status, std::string fields = "", std::string_view body = "") {
        const std::string request = peer_.take_output();
        const size_t cseq = request.find("CSeq: ");
        if (cseq == request.npos) return "no request";
        if (!fields.empty()) fields += "\r\n";
        const auto taken = take(fmt::format("RTSP/1.0 {} X\r\nCSeq: {}\r\n{}Content-Length: {}\r\n\r\n{}", status,
                                            std::stoi(request.substr(cseq + 6)), fields, body.size(), body));
        const std::string method = request.substr(0, request.find(' '));
        return taken ? method : method + ": " + taken.error().text();
    }
    void describe() {
        EXPECT_EQ(answer(200, "Public: DESCRIBE, SETUP, PLAY"), "OPTIONS");
        EXPECT_EQ(answer(200, "Content-Type: application/sdp", "v=0\r\n"), "DESCRIBE");
    }
    static constexpr std::string_view kInterleaved = "Session: 1\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1";

    std::string events_;
    Result<PeerTracks> tracks_ = PeerTracks{{"rtsp://127.0.0.1/s/a"}, "rtsp://127.0.0.1/s"};
    uint64_t refused_ = 0;
    std::unique_ptr<runtime::TcpListener> listener_;
    PeerSession peer_{static_cast<PeerUser&>(*this), refused_};

  private:
    Result<PeerTracks> on_described(const ::rtsp::Message& answer) override {
        events_ += fmt::format("described {};", answer.headers.get("Via"));
        return std::move(tracks_);
    }
    void on_transport() override { events_ += peer_.tcp() ? "tcp;" : "udp;"; }
    void on_streaming() override { events_ += "streaming;"; }
    void on_interleaved(size_t track, bool rtcp, std::span<const uint8_t> bytes) override {
        events_ += fmt::format("{}{}:{};", track, rtcp ? "c" : "", bytes.size());
    }
};

TEST_F(PeerSessionTest, PlaysInterleaved) {
    connect();
    EXPECT_EQ(answer(200), "OPTIONS");
    EXPECT_EQ(answer(200, "Via: RTSP/1.0 one", "v=0\r\n"), "DESCRIBE");
    EXPECT_EQ(answer(200, std::string(kInterleaved)), "SETUP");
    ASSERT_TRUE(ok(take(std::string_view("$\0\0\4abcd", 8)))) << "media may come before PLAY's answer";
    EXPECT_FALSE(peer_.is_streaming());
    EXPECT_EQ(answer(200, "Session: 1"), "PLAY");
    ASSERT_TRUE(ok(take(std::string_view("$\1\0\5abcde", 9))));
    EXPECT_EQ(events_, "described RTSP/1.0 one;tcp;0:4;streaming;0c:5;");
    EXPECT_TRUE(peer_.ports().empty());
    peer_.client().end();
    EXPECT_TRUE(peer_.take_output().starts_with("TEARDOWN rtsp://127.0.0.1/s "));
}

TEST_F(PeerSessionTest, TheOtherTransportIsTriedOnce) {
    connect();
    describe();
    EXPECT_EQ(answer(461), "SETUP");
    EXPECT_EQ(peer_.ports().size(), 1u);
    EXPECT_EQ(answer(461), "SETUP: the server offers no transport that is allowed here");
    EXPECT_EQ(events_, "described ;tcp;udp;");
}

TEST_F(PeerSessionTest, OneTransportAlone) {
    connect({.tcp_first = true, .has_other = false});
    describe();
    EXPECT_EQ(answer(461), "SETUP: the server offers no transport that is allowed here");
    EXPECT_EQ(events_, "described ;tcp;");
}

TEST_F(PeerSessionTest, UdpFirst) {
    connect({.tcp_first = false});
    describe();
    EXPECT_EQ(answer(461), "SETUP");
    EXPECT_EQ(events_, "described ;udp;tcp;");
    EXPECT_TRUE(peer_.ports().empty());
}

TEST_F(PeerSessionTest, ItsUserMayRefuseWhatIsDescribed) {
    connect();
    tracks_ = base::fail(CloseReason::kRefused, "no media");
    EXPECT_EQ(answer(200), "OPTIONS");
    EXPECT_EQ(answer(200, "", "v=0\r\n"), "DESCRIBE: no media");
}

TEST_F(PeerSessionTest, AnErrorHasTheReasonThatTheServerStates) {
    connect();
    EXPECT_EQ(answer(200), "OPTIONS");
    const std::string refused = answer(453, "Warning: 399 too many");
    EXPECT_TRUE(refused.starts_with("DESCRIBE: ") && refused.ends_with(" (399 too many)")) << refused;
    EXPECT_EQ(peer_.refused_status(), 453);
}

TEST_F(PeerSessionTest, ARedirectIsTheEnd) {
    connect();
    EXPECT_EQ(answer(200), "OPTIONS");
    EXPECT_EQ(answer(302, "Location: rtsp://other/s"), "DESCRIBE");
    EXPECT_EQ(peer_.location(), "rtsp://other/s");
    EXPECT_TRUE(ok(take("what follows is not read")));
    connect();
    EXPECT_EQ(peer_.location(), "") << "of the next connection";
    EXPECT_EQ(answer(200), "OPTIONS");
}

TEST_F(PeerSessionTest, RequestsOfTheServerAreAnsweredUpToALimit) {
    connect();
    (void)peer_.take_output();
    const std::string_view request = "OPTIONS * RTSP/1.0\r\nCSeq: 7\r\n\r\n";
    ASSERT_TRUE(ok(take(request)));
    EXPECT_NE(peer_.take_output().find("CSeq: 7"), std::string::npos);
    int answers = 0;
    Result<void> taken;
    while ((taken = take(request)) && answers < 10'000) ++answers;
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().close_reason(), CloseReason::kFlood);
    EXPECT_GT(answers, 50);
    ASSERT_TRUE(ok(peer_.on_timer()));
    EXPECT_TRUE(ok(take(request))) << "the limit is one of a time";
}

TEST_F(PeerSessionTest, TheServerMayEndTheSession) {
    connect();
    describe();
    EXPECT_EQ(answer(200, std::string(kInterleaved)), "SETUP");
    EXPECT_EQ(answer(200, "Session: 1"), "PLAY");
    ASSERT_TRUE(ok(take("TEARDOWN rtsp://127.0.0.1/s RTSP/1.0\r\nCSeq: 7\r\nSession: 1\r\n\r\n")));
    EXPECT_TRUE(peer_.has_ended());
}

}  // namespace
}  // namespace service::rtsp

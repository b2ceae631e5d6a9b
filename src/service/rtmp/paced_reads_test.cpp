// A publisher whose connection is read for each pass over the viewers, and not when something comes.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "runtime/loop/simulated_time_testing.h"
#include "service/rtmp/testing.h"

namespace service::rtmp {
namespace {

using runtime::testing::ok;
using testing::kInterFrame;
using testing::kStart;
using testing::RtmpServiceTest;

class PacedReadsTest : public RtmpServiceTest {
  protected:
    static constexpr int kPassMs = 350;

    // Publishes until the publisher is paced: in its first two seconds each message is read as it comes.
    void begin() {
        constexpr int kFrames = 25;
        vhost().play.mw_latency = kPassMs;
        vhost().play.rejoin_timeout = 10'000;
        vhost().tcp_nodelay = true;  // else bytes wait for acknowledgements, in real time
        start();
        publisher_ = running();
        publisher_->socket().set_no_delay(true);
        player_ = player();
        time_.pass_ms(kPassMs);
        EXPECT_EQ(media(), kStart);
        for (int i = 0; i < kFrames; ++i) {
            send_frame();
            time_.pass_ms(100);
        }
        time_.pass_ms(2 * kPassMs);
        EXPECT_EQ(frames(), kFrames);
    }
    void TearDown() override {
        publisher_.reset();
        player_.reset();
        if (service_) service_->stop();
        time_.pass_ms(1000);
        RtmpServiceTest::TearDown();
    }
    void send_frame() { publisher_->send(::rtmp::kVideo, timestamp_ += 40, kInterFrame); }
    // What the player has been sent since the last call. A wait would never end: time stands still.
    std::string media() {
        std::array<uint8_t, 64 * 1024> buffer;
        for (ssize_t n; (n = ::recv(player_->socket().plain_fd(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;)
            EXPECT_TRUE(ok(player_->session().feed(std::span(buffer).first(static_cast<size_t>(n)))));
        return player_->media(0);
    }
    int frames() {
        const std::string text = media();
        int count = 0;
        for (size_t at = 0; (at = text.find(" 27:12;", at)) != std::string::npos; ++at) ++count;
        return count;
    }
    base::Ref<live::Stream> stream(const char* name) { return registry_.find({"__defaultVhost__", "live", name}); }
    std::string why_ended() {
        if (sessions_.closed().size() == 0) return "nobody ended";
        const net::ClosedSession& closed = sessions_.closed().newest(0);
        return fmt::format("{} {}: {}", session_type_name(closed.type), base::close_reason_name(closed.reason),
                           closed.text);
    }

    runtime::testing::SimulatedTime time_;
    std::unique_ptr<testing::TestClient> publisher_, player_;
    uint32_t timestamp_ = 10;
};

TEST_F(PacedReadsTest, APassBringsWhatHasComeBeforeIt) {
    begin();
    for (int pass = 0; pass < 5; ++pass) {
        const uint64_t before = stream("s")->counters().video_frames;
        send_frame();
        send_frame();
        time_.settle();
        EXPECT_EQ(stream("s")->counters().video_frames, before) << "they wait in the socket";
        time_.pass_ms(kPassMs);
        EXPECT_EQ(frames(), 2) << "pass " << pass;
    }
}

TEST_F(PacedReadsTest, MoreMessagesThanAreProcessedAtOnce) {
    begin();
    for (int i = 0; i < 200; ++i) send_frame();
    time_.pass_ms(2 * kPassMs);  // on a slow machine the coroutine processes the rest
    EXPECT_EQ(frames(), 200);
    send_frame();
    time_.pass_ms(kPassMs);
    EXPECT_EQ(frames(), 1);
}

TEST_F(PacedReadsTest, SilenceIsNoticed) {
    begin();
    send_frame();
    time_.pass_ms(vhost().publish.normal_timeout);  // it is read later than it is sent
    EXPECT_EQ(why_ended(), "nobody ended");
    time_.pass_ms(2 * kPassMs);
    EXPECT_EQ(why_ended(), "fmle-publish peer-timeout: no usable audio or video for 2000 ms (normal_timeout)");
}

TEST_F(PacedReadsTest, AnErrorOfThePublisherEndsIt) {
    begin();
    send_frame();
    const uint8_t header = 0xc9;  // of type 3, on a chunk stream of which nothing is known
    ASSERT_TRUE(ok(publisher_->write(std::span(&header, 1))));
    time_.pass_ms(kPassMs);
    EXPECT_EQ(why_ended(), "fmle-publish protocol-error: chunk stream 9 begins with a type 3 header");
    EXPECT_FALSE(stream("s")->published());
    time_.pass_ms(kPassMs);
    EXPECT_EQ(frames(), 1) << "what came before is sent";
}

TEST_F(PacedReadsTest, TheEndOfTheConnection) {
    begin();
    send_frame();
    publisher_.reset();
    time_.settle();
    EXPECT_EQ(why_ended(), "fmle-publish peer-closed: closed by the peer");
    time_.pass_ms(kPassMs);
    EXPECT_EQ(frames(), 1);
}

TEST_F(PacedReadsTest, AnotherStreamBesideItIsRefused) {
    begin();
    publisher_->call_on(2, "publish", {{}, "b", "live"});
    time_.pass_ms(kPassMs);
    EXPECT_FALSE(stream("b"));
    EXPECT_TRUE(stream("s")->published());
    send_frame();
    time_.pass_ms(kPassMs);
    EXPECT_EQ(frames(), 1);
}

TEST_F(PacedReadsTest, AfterTheLastStreamNothingIsPaced) {
    snapshot_->rtmp.handshake_timeout = 3 * kPassMs;
    begin();
    publisher_->call("closeStream", {{}});
    time_.pass_ms(kPassMs);
    EXPECT_FALSE(stream("s")->published());
    publisher_->call("publish", {{}, "s", "live"});
    time_.settle();
    EXPECT_TRUE(stream("s")->published()) << "its coroutine reads as messages come";
    publisher_->call("closeStream", {{}});
    time_.pass_ms(snapshot_->rtmp.handshake_timeout + kPassMs);
    EXPECT_NE(why_ended().find("did not publish or play"), std::string::npos) << why_ended();
}

}  // namespace
}  // namespace service::rtmp

// RtspDialog with a server's answers by hand.

#include "load/rtsp_dialog.h"

#include <gtest/gtest.h>

#include "protocol/rtp/packet.h"

namespace load {
namespace {

class Counter final : public MediaSink {
  public:
    void on_media(const MediaMessage&) override { ++units; }
    int units = 0;
};

constexpr std::string_view kDescription =
    "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=s\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
    "a=control:trackID=0\r\nm=audio 0 RTP/AVP 97\r\na=rtpmap:97 PCMU/8000\r\na=control:trackID=1\r\n";

class RtspDialogTest : public testing::Test {
  protected:
    void open(Role role, DialogOptions options = {}) {
        auto target = parse_target("rtsp://127.0.0.1:554/live/s");
        ASSERT_TRUE(target);
        dialog_ = std::make_unique<RtspDialog>(*target, role, std::move(options));
        dialog_->start(out_);
    }
    // The first line of what was sent, and its Transport.
    std::string sent() {
        std::string text(out_.begin(), out_.end());
        out_.clear();
        std::string line = text.substr(0, text.find("\r\n"));
        if (size_t at = text.find("Transport: "); at != text.npos)
            line += " " + text.substr(at, text.find("\r\n", at) - at);
        return line;
    }
    base::Result<void> answer(std::string_view status, std::string_view fields = {}, std::string_view body = {}) {
        std::string text = fmt::format("RTSP/1.0 {}\r\nCSeq: {}\r\n{}", status, ++cseq_, fields);
        if (!body.empty()) text += fmt::format("Content-Length: {}\r\n", body.size());
        return feed(text + "\r\n" + std::string(body));
    }
    base::Result<void> feed(std::string_view text) {
        return dialog_->feed({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, sink_, out_);
    }
    static std::string frame(uint8_t channel, uint16_t sequence) {
        std::string out("$\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0eeee", 20);
        out[1] = static_cast<char>(channel);
        rtp::write_header(reinterpret_cast<uint8_t*>(out.data()) + 4, {true, 96, sequence, 0, 1});
        return out;
    }
    std::unique_ptr<RtspDialog> dialog_;
    std::vector<uint8_t> out_;
    Counter sink_;
    int cseq_ = 0;
};

TEST_F(RtspDialogTest, PlaysInterleaved) {
    open(Role::kPlay);
    EXPECT_EQ(sent(), "OPTIONS rtsp://127.0.0.1:554/live/s RTSP/1.0");
    ASSERT_TRUE(answer("200 OK"));
    EXPECT_EQ(sent(), "DESCRIBE rtsp://127.0.0.1:554/live/s RTSP/1.0");
    ASSERT_TRUE(answer("200 OK", "Content-Base: rtsp://127.0.0.1:554/live/s/\r\n", kDescription));
    EXPECT_EQ(sent(),
              "SETUP rtsp://127.0.0.1:554/live/s/trackID=0 RTSP/1.0 Transport: RTP/AVP/TCP;unicast;interleaved=0-1");
    ASSERT_TRUE(answer("200 OK", "Session: 1\r\nTransport: RTP/AVP/TCP;unicast;interleaved=8-9\r\n"));
    EXPECT_EQ(sent(),
              "SETUP rtsp://127.0.0.1:554/live/s/trackID=1 RTSP/1.0 Transport: RTP/AVP/TCP;unicast;interleaved=2-3");
    ASSERT_TRUE(answer("200 OK", "Session: 1\r\nTransport: RTP/AVP/TCP;unicast;interleaved=2-3\r\n"));
    EXPECT_EQ(sent().substr(0, 5), "PLAY ");
    ASSERT_TRUE(feed(frame(8, 1))) << "media before the answer to PLAY";
    EXPECT_FALSE(dialog_->ready());
    ASSERT_TRUE(answer("200 OK", "Session: 1\r\n"));
    EXPECT_TRUE(dialog_->ready());
    ASSERT_TRUE(feed(frame(8, 2) + frame(2, 1)));
    EXPECT_EQ(sink_.units, 3);
    EXPECT_FALSE(feed(frame(0, 3))) << "a channel that no track has was accepted";
}

TEST_F(RtspDialogTest, PlaysByUdp) {
    open(Role::kPlay, {.client_ports = {{5000, 5001}}});
    ASSERT_TRUE(answer("200 OK"));
    (void)sent();
    ASSERT_TRUE(answer("200 OK", {}, kDescription));
    EXPECT_EQ(sent(),
              "SETUP rtsp://127.0.0.1:554/live/s/trackID=0 RTSP/1.0 "
              "Transport: RTP/AVP;unicast;client_port=5000-5001");
    ASSERT_TRUE(answer("200 OK", "Session: 1\r\nTransport: RTP/AVP;unicast;client_port=5000-5001;server_port=6-7\r\n"));
    EXPECT_EQ(sent().substr(0, 5), "PLAY ") << "there are ports for one track";
    ASSERT_TRUE(answer("200 OK", "Session: 1\r\n"));
    const std::string packet = frame(0, 1).substr(4);
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(packet.data()), packet.size());
    ASSERT_TRUE(dialog_->on_datagram(0, bytes, sink_));
    ASSERT_TRUE(dialog_->on_datagram(1, bytes, sink_)) << "of a track that was not set up: ignored";
    EXPECT_EQ(sink_.units, 1);
    EXPECT_FALSE(dialog_->on_datagram(0, bytes.first(11), sink_));
}

TEST_F(RtspDialogTest, Publishes) {
    open(Role::kPublish, {.description = std::string(kDescription)});
    (void)sent();
    ASSERT_TRUE(answer("200 OK"));
    EXPECT_EQ(sent(), "ANNOUNCE rtsp://127.0.0.1:554/live/s RTSP/1.0");
    ASSERT_TRUE(answer("200 OK"));
    for (int track = 0; track < 2; ++track) {
        EXPECT_EQ(sent(), fmt::format("SETUP rtsp://127.0.0.1:554/live/s/trackID={} RTSP/1.0 Transport: "
                                      "RTP/AVP/TCP;unicast;interleaved={}-{};mode=record",
                                      track, 2 * track, 2 * track + 1));
        ASSERT_TRUE(answer("200 OK", "Session: 1\r\n"));
    }
    EXPECT_EQ(sent().substr(0, 7), "RECORD ");
    ASSERT_TRUE(answer("200 OK", "Session: 1\r\n"));
    EXPECT_TRUE(dialog_->ready());
}

TEST_F(RtspDialogTest, ARefusalIsAnError) {
    open(Role::kPlay);
    ASSERT_TRUE(answer("200 OK"));
    auto answered = answer("404 Not Found");
    ASSERT_FALSE(answered);
    EXPECT_EQ(answered.error().text(), "DESCRIBE: 404 Not Found");
}

TEST_F(RtspDialogTest, ADescriptionWithoutTracksIsAnError) {
    open(Role::kPlay);
    ASSERT_TRUE(answer("200 OK"));
    EXPECT_FALSE(answer("200 OK", {}, "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=s\r\nt=0 0\r\n"));
}

}  // namespace
}  // namespace load

#include "service/rtsp/publisher.h"

#include <gtest/gtest.h>

#include "base/hex_testing.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "protocol/rtcp/writer.h"
#include "runtime/loop/testing.h"

namespace service::rtsp {
namespace {

using media::Codec;
using media::Kind;

class Owner final : public PublisherOwner {
  public:
    std::string revoked;

  private:
    void on_revoked(std::string_view why, base::CloseReason) override { revoked = why; }
    bool peer_alive() const override { return true; }
    live::PublisherFacts publisher_facts() const override { return {}; }
};

// The payloads of the frames that were published, each with its channels as FLV has them.
struct Sink final : live::FrameSink {
    std::string text;
    void on_tracks(const base::Ref<media::TrackSet>&) override {}
    void on_frame(const media::Frame& frame) override {
        text += std::string(frame.payload.text()) + ((frame.publisher_format & 1) ? "2 " : "1 ");
    }
};

std::vector<uint8_t> packet(uint16_t sequence, std::string_view payload, uint32_t ssrc = 7) {
    std::vector<uint8_t> bytes(rtp::kFixedHeaderSize);
    rtp::Header header;
    header.payload_type = 8;
    header.sequence = sequence;
    header.timestamp = sequence * 160u;
    header.ssrc = ssrc;
    rtp::write_header(bytes.data(), header);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

class RtspPublisher : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        stream_ = registry_.find_or_create({"v", "a", "s"}, {});
        stream_->subscribe(sink_);
    }
    void TearDown() override {
        publisher_.reset();
        stream_->unsubscribe(sink_);
    }
    void make(bool reorders) {
        sdp::SessionTrack track;
        track.kind = Kind::kAudio;
        track.payload_type = 8;
        track.format.codec = Codec::kPcmAlaw;
        track.format.clock_rate = 8'000;
        track.format.channels = 1;
        publisher_ = std::make_unique<Publisher>(owner_, snapshot_, snapshot_->vhosts.front(), std::vector{track}, 0,
                                                 reorders, 0);
        ASSERT_TRUE(runtime::testing::ok(publisher_->acquire(*stream_)));
    }
    void push(uint16_t sequence, std::string_view payload, int64_t now_us = 1'000, uint32_t ssrc = 7) {
        publisher_->on_rtp(0, packet(sequence, payload, ssrc), now_us);
    }
    config::SnapshotPtr snapshot_ = config::default_snapshot();
    live::Registry registry_;
    base::Ref<live::Stream> stream_;
    Sink sink_;
    Owner owner_;
    std::unique_ptr<Publisher> publisher_;
};

TEST_F(RtspPublisher, PacketsBecomeFramesWithTheirChannels) {
    make(false);
    for (uint16_t i = 0; i < 3; ++i)
        push(static_cast<uint16_t>(65'535 + i), std::string(1, static_cast<char>('a' + i)));
    EXPECT_EQ(sink_.text, "a1 b1 c1 ");
}

TEST_F(RtspPublisher, WhatIsDroppedIsCountedByKind) {
    sdp::SessionTrack track;
    track.kind = Kind::kVideo;
    track.payload_type = 8;
    track.format.codec = Codec::kH264;
    track.format.clock_rate = 90'000;
    publisher_ =
        std::make_unique<Publisher>(owner_, snapshot_, snapshot_->vhosts.front(), std::vector{track}, 0, false, 0);
    ASSERT_TRUE(runtime::testing::ok(publisher_->acquire(*stream_)));
    using Faults = live::InputFaults;
    const auto counts = [&](int64_t now_us) {
        publisher_->on_tick(now_us);
        return publisher_->input_faults()->counts();
    };
    EXPECT_EQ(counts(1'000), Faults::Counts{});
    publisher_->on_rtp(0, std::vector<uint8_t>{1, 2, 3}, 1'000);
    EXPECT_EQ(counts(2'000)[Faults::kMessage], 1u);
    push(1, "\x7f\x01");  // a reserved type
    push(2, "\x65\x88");  // the next timestamp: the first frame was damaged
    push(3, "\x65\x88");  // no parameter sets
    EXPECT_EQ(counts(3'000)[Faults::kVideo], 3u) << publisher_->input_faults()->last_text();
    EXPECT_EQ(publisher_->input_faults()->last_text(), "a frame without parameter sets");
    EXPECT_EQ(counts(4'000)[Faults::kVideo], 3u) << "each once";
}

TEST_F(RtspPublisher, DatagramsArePutInOrder) {
    make(true);
    for (const auto& [number, text] : {std::pair{65'535, "a"}, {1, "c"}, {0, "b"}, {2, "d"}, {1, "c"}})
        push(static_cast<uint16_t>(number), text);
    EXPECT_EQ(sink_.text, "a1 b1 c1 d1 ");
}

TEST_F(RtspPublisher, MissingDatagramsAreGivenUpInTime) {
    make(true);
    push(1, "a");
    push(3, "c");
    publisher_->on_tick(100'000);
    EXPECT_EQ(sink_.text, "a1 ") << "the second one may still come";
    publisher_->on_tick(1'000'000);
    EXPECT_EQ(sink_.text, "a1 c1 ");
}

TEST_F(RtspPublisher, AnotherSourceBeginsAgain) {
    make(true);
    push(100, "a");
    push(30'000, "b", 1'000, 8);
    EXPECT_EQ(sink_.text, "a1 b1 ");
}

TEST_F(RtspPublisher, WhatIsNoRtpIsCounted) {
    make(false);
    publisher_->on_rtp(0, {}, 0);
    publisher_->on_rtp(0, std::vector<uint8_t>(12), 0);
    publisher_->on_rtcp(0, std::vector<uint8_t>(3, 0xff), 0);
    publisher_->on_tick(2'000);
    EXPECT_EQ(publisher_->input_faults()->counts()[live::InputFaults::kMessage], 3u);
    EXPECT_TRUE(publisher_->report(0, 0).empty()) << "nothing to report of";
}

TEST_F(RtspPublisher, ReportsWhatItReceived) {
    make(false);
    push(1, "a");
    push(4, "b");
    const std::vector<uint8_t> report = publisher_->report(0, 2'000);
    ASSERT_GE(report.size(), 32u);
    EXPECT_EQ(report[1], rtcp::kReceiverReport);
    EXPECT_EQ(rtp::get_u32(report.data() + 8), 7u) << "of the publisher's SSRC";
    EXPECT_EQ(rtp::get_u32(report.data() + 12) & 0xffffff, 2u) << "two packets are lost";
}

TEST_F(RtspPublisher, AStandbyIsAskedForAKeyframeWhenItIsNext) {
    make(false);
    config::Vhost vhost = snapshot_->vhosts.front();
    vhost.publish.standby = config::StandbyMode::kOn;
    sdp::SessionTrack track;
    track.format.codec = Codec::kH264;
    Publisher standby(owner_, snapshot_, vhost, {track}, 0, false, 0);
    ASSERT_TRUE(runtime::testing::ok(standby.acquire(*stream_)));
    EXPECT_TRUE(standby.waits());
    const std::vector<uint8_t> units[] = {base::hex("6742c01ed890280bfe5c0440000003004000000c83c58b8980"),
                                          base::hex("68c888cb20"), base::hex("65888400")};
    for (uint16_t i = 0; i < std::size(units); ++i) {
        auto datagram = packet(i, {reinterpret_cast<const char*>(units[i].data()), units[i].size()});
        datagram[1] |= i == 2 ? 0x80 : 0;
        std::fill_n(datagram.begin() + 4, 4, uint8_t{0});  // one timestamp
        standby.on_rtp(0, datagram, 1'000);
    }
    const auto has_pli = [&] {
        const std::vector<uint8_t> report = standby.report(0, 2'000);
        for (size_t at = 0; at + 4 <= report.size(); at += 4 + 4 * size_t{rtp::get_u16(report.data() + at + 2)})
            if (report[at + 1] == rtcp::kPayloadFeedback) return true;
        return false;
    };
    EXPECT_FALSE(has_pli());
    publisher_.reset();
    ASSERT_FALSE(stream_->published());
    stream_->tick(runtime::now_ms());
    EXPECT_TRUE(has_pli());
    EXPECT_FALSE(has_pli()) << "once for each request";
}

TEST_F(RtspPublisher, TimeLimits) {
    make(false);
    const auto& limits = snapshot_->vhosts.front().publish;
    const auto text = [&](int64_t now_us) {
        const auto passed = publisher_->passed_limit(now_us, nullptr);
        return passed ? passed->text : "";
    };
    EXPECT_EQ(text(0), "");
    EXPECT_NE(text(limits.firstpkt_timeout * 1000LL).find("(firstpkt_timeout)"), std::string::npos);
    push(1, "", 1'000'000);
    EXPECT_NE(text(limits.firstpkt_timeout * 1000LL).find("(firstpkt_timeout)"), std::string::npos)
        << "a packet of which no frame is made";
    push(1, "a", 1'000'000);
    EXPECT_EQ(text(1'000'000), "");
    EXPECT_NE(text(1'000'000 + limits.normal_timeout * 1000LL).find("(normal_timeout)"), std::string::npos);
}

}  // namespace
}  // namespace service::rtsp

#include "service/rtc/play/send_track.h"

#include <gtest/gtest.h>

#include "protocol/rtp/extensions.h"

namespace service::rtc {
namespace {

live::RtpPacket packet(uint64_t sequence, uint32_t timestamp = 7, bool marker = false) {
    live::RtpPacket p;
    p.sequence = sequence;
    p.timestamp = timestamp;
    p.marker = marker;
    p.payload = base::Slice::copy("payload");
    return p;
}

const SendFormat kPlain{.ssrc = 0x11223344, .payload_type = 102, .nack = true};
SendFormat with_rtx() {
    SendFormat format = kPlain;
    format.rtx_ssrc = 0x55667788;
    format.rtx_payload_type = 103;
    return format;
}

struct Sent {
    SendTrack& track;
    rtp::PacketView send(const live::RtpPacket& p) {
        auto number = track.to_viewer_sequence(p.sequence);
        EXPECT_NE(number, 0u);
        auto header = track.header(p, number);
        bytes.assign(header.begin(), header.end());
        return *rtp::PacketView::parse(bytes);
    }
    rtp::PacketView send_again(const live::RtpPacket& p, uint64_t number) {
        auto header = track.retransmission(p, number).header;
        bytes.assign(header.begin(), header.end());
        return *rtp::PacketView::parse(bytes);
    }
    std::vector<uint8_t> bytes{};
};

TEST(SendTrack, WritesTheViewersHeader) {
    SendTrack track(kPlain, 1000);
    track.begin_at(500'000);
    Sent sent{track};
    auto view = sent.send(packet(500'000, 90'000, true));
    EXPECT_EQ(view.header(), (rtp::Header{true, 102, 1001, 90'000, 0x11223344}));
    EXPECT_EQ(view.header_size(), 12u);
    view = sent.send(packet(500'002, 90'001));
    EXPECT_EQ(view.header(), (rtp::Header{false, 102, 1003, 90'001, 0x11223344}));
    EXPECT_EQ(track.packets(), 2u);
    EXPECT_EQ(track.octets(), 14u);
}

TEST(SendTrack, AfterARestartNothingOfBeforeIsKnownAndNumbersGoOn) {
    SendTrack track(kPlain, 1000);
    Sent sent{track};
    for (uint64_t first : {500u, 600u}) {
        track.begin_at(first);
        (void)sent.send(packet(first));
    }
    EXPECT_EQ(track.to_ring_sequence(1001), 500u);
    EXPECT_EQ(track.to_ring_sequence(1002), 600u);
    track.restart();
    EXPECT_FALSE(track.to_ring_sequence(1001));
    EXPECT_FALSE(track.to_ring_sequence(1002));
    EXPECT_EQ(track.to_viewer_sequence(600), 0u);
    track.begin_at(500);
    EXPECT_EQ(sent.send(packet(500)).sequence(), 1003);
    EXPECT_EQ(track.to_ring_sequence(1003), 500u);
    EXPECT_FALSE(track.to_ring_sequence(1002));
}

TEST(SendTrack, TellsTheMidAtFirst) {
    for (const char* mid : {"0", "video0", "a-mid-of-15-let"}) {
        SendFormat format = with_rtx();
        format.mid_id = 4;
        format.mid = mid;
        SendTrack track(format, 1000);
        track.begin_at(1);
        Sent sent{track};
        for (uint64_t i = 1; i <= 40; ++i) {
            auto view = sent.send(packet(i));
            EXPECT_EQ(view.extension(4).has_value(), i <= 32) << i;
            if (i <= 32) {
                EXPECT_EQ(rtp::text_value(*view.extension(4)), mid);
            }
            EXPECT_TRUE(view.payload().empty());  // only a header was parsed: its size is consistent
        }
    }
}

TEST(SendTrack, AMidThatDoesNotFitTheOneByteFormIsNotSent) {
    for (const uint8_t id : {4, 15}) {
        SendFormat format = with_rtx();
        format.mid_id = id;
        format.mid = id == 4 ? "a-mid-of-16-lett" : "0";
        SendTrack track(format, 1000);
        track.begin_at(1);
        EXPECT_EQ(Sent{track}.send(packet(1)).header_size(), 12u);
    }
}

TEST(SendTrack, TellsAPlayoutDelayAfterTheMid) {
    SendFormat format = with_rtx();
    format.mid_id = 4;
    format.mid = "a-mid-of-15-let";
    format.playout_delay_id = 5;
    SendTrack track(format, 1000);
    track.begin_at(1);
    Sent sent{track};
    for (uint64_t i = 1; i <= 100; ++i) {
        if (i == 41) {
            track.set_playout_delay(250);
        } else if (i == 50) {
            track.set_playout_delay(0);
        }
        auto view = sent.send(packet(i));
        const auto value = view.extension(5);
        ASSERT_EQ(value.has_value(), i >= 41 && i < 50 + 32) << i;
        if (value) {
            const std::vector<uint8_t> wanted =
                i < 50 ? std::vector<uint8_t>{1, 0x9f, 0xff} : std::vector<uint8_t>{0, 0x0f, 0xff};
            EXPECT_EQ(std::vector(value->begin(), value->end()), wanted) << i;
        }
        EXPECT_EQ(track.takes_playout_delay(), i >= 32);
        EXPECT_TRUE(view.payload().empty());
    }
}

TEST(SendTrack, WhatIsSentAgainWithoutRtxIsTheSameToTheBit) {
    SendFormat format = kPlain;
    format.mid_id = 4;
    format.mid = "0";
    SendTrack track(format, 1000);
    track.begin_at(1);
    Sent sent{track};
    (void)sent.send(packet(1, 50, true));
    const std::vector<uint8_t> first = sent.bytes;
    for (uint64_t i = 2; i < 40; ++i) (void)sent.send(packet(i));
    (void)sent.send_again(packet(1, 50, true), 1001);
    EXPECT_EQ(sent.bytes, first);
}

TEST(SendTrack, RtxHasItsOwnNumbers) {
    SendTrack track(with_rtx(), 1000);
    track.begin_at(1);
    Sent sent{track};
    (void)sent.send(packet(1, 50, true));
    auto view = sent.send_again(packet(1, 50, true), 1001);
    EXPECT_EQ(view.header(), (rtp::Header{true, 103, 1000, 50, 0x55667788}));
    view = sent.send_again(packet(1, 50, true), 1001);
    EXPECT_EQ(view.sequence(), 1001);
    // The media continues unaffected.
    view = sent.send(packet(2, 51));
    EXPECT_EQ(view.header(), (rtp::Header{false, 102, 1002, 51, 0x11223344}));
    EXPECT_EQ(track.packets(), 2u);
}

TEST(SendTrack, FindsWhatANackNames) {
    SendTrack track(kPlain, 1000);
    EXPECT_FALSE(track.to_ring_sequence(1000));
    track.begin_at(50);
    EXPECT_FALSE(track.to_ring_sequence(1001));  // nothing was sent yet
    Sent sent{track};
    for (uint64_t i = 50; i < 60; ++i) (void)sent.send(packet(i));
    EXPECT_EQ(track.to_ring_sequence(1001), 50u);
    EXPECT_EQ(track.to_ring_sequence(1010), 59u);
    EXPECT_FALSE(track.to_ring_sequence(1000));
    EXPECT_FALSE(track.to_ring_sequence(1011));  // not sent yet: interpreted as an old number
}

TEST(SendTrack, GoesOnAtAKeyframeWithoutAHole) {
    SendTrack track(kPlain, 1000);
    track.begin_at(50);
    Sent sent{track};
    for (uint64_t i = 50; i < 60; ++i) (void)sent.send(packet(i));
    track.begin_at(200);
    EXPECT_FALSE(track.to_viewer_sequence(60));
    EXPECT_EQ(sent.send(packet(200)).sequence(), 1011);
    EXPECT_EQ(track.to_ring_sequence(1011), 200u);
    EXPECT_EQ(track.to_ring_sequence(1010), 59u);
    EXPECT_EQ(track.to_ring_sequence(1001), 50u);
    // After a second jump, numbers from before the previous one are no longer known.
    track.begin_at(300);
    EXPECT_EQ(sent.send(packet(300)).sequence(), 1012);
    EXPECT_EQ(track.to_ring_sequence(1011), 200u);
    EXPECT_FALSE(track.to_ring_sequence(1010));
}

TEST(SendTrack, NumbersWrap) {
    SendTrack track(kPlain, 32'000);
    track.begin_at(1);
    Sent sent{track};
    for (uint64_t i = 1; i < 100'000; ++i)
        ASSERT_EQ(sent.send(packet(i)).sequence(), static_cast<uint16_t>(32'000 + i));
    EXPECT_EQ(track.highest(), 32'000u + 99'999);
    EXPECT_EQ(track.to_ring_sequence(static_cast<uint16_t>(32'000 + 99'999)), 99'999u);
    EXPECT_EQ(track.to_ring_sequence(static_cast<uint16_t>(32'000 + 60'000)), 60'000u);
}

TEST(SendTrack, StopsAndGoesOn) {
    SendTrack track(kPlain, 1);
    EXPECT_FALSE(track.to_viewer_sequence(1));
    track.begin_at(1);
    EXPECT_TRUE(track.to_viewer_sequence(1));
    track.stop();
    EXPECT_FALSE(track.to_viewer_sequence(1));
}

TEST(SendTrack, IsSmall) { EXPECT_LE(sizeof(SendTrack), 152u); }

}  // namespace
}  // namespace service::rtc

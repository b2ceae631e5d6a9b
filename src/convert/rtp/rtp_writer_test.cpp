#include "convert/rtp/rtp_writer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "media/h264.h"
#include "protocol/rtp/packet.h"
#include "protocol/rtp/payload/payload_testing.h"

namespace convert {
namespace {

using media::Codec;
using rtp::testing::nalu;
using std::chrono::milliseconds;

media::Track h264_track() {
    auto config = media::make_avc_config(rtp::testing::h264_sps(), rtp::testing::h264_pps());
    return {.kind = media::Kind::kVideo,
            .codec = Codec::kH264,
            .header = rtp::testing::header_frame(Codec::kH264, *config)};
}

RtpWriterOptions h264_options() {
    RtpWriterOptions options;
    options.format.codec = Codec::kH264;
    options.payload_type = 97;
    options.ssrc = 0x11223344;
    options.sequence = 0xffff;
    options.timestamp = 1000;
    options.max_packet = 1000;
    return options;
}

TEST(RtpWriter, WritesPacketsOneBehindTheOther) {
    auto writer = RtpWriter::make(h264_track(), h264_options());
    ASSERT_TRUE(writer) << writer.error().text();
    auto frame = rtp::testing::video_frame(Codec::kH264, true, {nalu({0x65}, 2500)});
    frame.dts = milliseconds(40);
    frame.cts = milliseconds(80);
    base::SliceBuilder out;
    std::vector<WrittenPacket> packets;
    ASSERT_TRUE(writer->write(frame, out, packets));
    ASSERT_EQ(packets.size(), 4u);  // parameter sets, three fragments
    size_t end = 0;
    for (size_t i = 0; i < packets.size(); ++i) {
        EXPECT_EQ(packets[i].begin, end) << i;
        end = packets[i].end;
        auto packet = rtp::PacketView::parse(out.bytes().subspan(packets[i].begin, end - packets[i].begin));
        ASSERT_TRUE(packet) << i;
        rtp::Header expected{i == 3, 97, static_cast<uint16_t>(0xffff + i), 1000 + 120 * 90, 0x11223344};
        EXPECT_EQ(packet->header(), expected) << i;
        EXPECT_LE(packet->datagram().size(), 1000u);
        EXPECT_EQ(packets[i].keyframe, i == 0);
        EXPECT_EQ(packets[i].marker, i == 3);
    }
    EXPECT_EQ(end, out.size());
    EXPECT_EQ(writer->next_sequence(), 3);
    auto report = writer->sender_report(uint64_t{7} << 32, milliseconds(120));
    EXPECT_EQ(report.rtp_timestamp, 1000u + 120 * 90);
    EXPECT_EQ(report.packets, 4u);
    EXPECT_EQ(report.octets, out.size() - 4 * rtp::kFixedHeaderSize);
}

// RFC 2326, 10.12.
TEST(RtpWriter, InterleavedPacketsHaveChannelAndLength) {
    auto options = h264_options();
    options.channel = 2;
    auto writer = RtpWriter::make(h264_track(), options);
    base::SliceBuilder out;
    std::vector<WrittenPacket> packets;
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(writer->write(rtp::testing::video_frame(Codec::kH264, false, {nalu({0x41}, 300)}), out, packets));
    ASSERT_EQ(packets.size(), 3u);
    for (const WrittenPacket& packet : packets) {
        auto bytes = out.bytes().subspan(packet.begin, packet.end - packet.begin);
        EXPECT_EQ(base::Slice::copy(bytes.first(4)), base::Slice::copy(base::hex("24 02 0138")));
        EXPECT_EQ(bytes.size(), 4u + 312);
        EXPECT_TRUE(rtp::PacketView::parse(bytes.subspan(4)));
    }
}

TEST(RtpWriter, WhatCannotBeSentIsAnError) {
    media::Track speex{.kind = media::Kind::kAudio, .codec = Codec::kSpeex};
    auto none = RtpWriter::make(speex, {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().text(), "Speex: RTP does not carry it");

    auto track = h264_track();
    track.header.reset();
    auto writer = RtpWriter::make(track, h264_options());
    ASSERT_TRUE(writer);
    base::SliceBuilder out;
    std::vector<WrittenPacket> packets;
    auto frame = rtp::testing::video_frame(Codec::kH264, true, {nalu({0x65}, 100)});
    EXPECT_FALSE(writer->write(frame, out, packets));
    EXPECT_EQ(writer->next_sequence(), 0xffff);
    ASSERT_TRUE(writer->set_header(*h264_track().header));
    EXPECT_TRUE(writer->write(frame, out, packets));
    EXPECT_EQ(packets.size(), 1u);  // parameter sets and the slice in one
}

TEST(RtpWriter, WritesPayloadsThatAreThere) {
    auto writer = RtpWriter::make(h264_track(), h264_options());
    ASSERT_TRUE(writer) << writer.error().text();
    const std::vector<rtp::testing::Bytes> payloads{nalu({0x65}, 1300), nalu({0x65}, 7)};
    base::SliceBuilder out;
    std::vector<WrittenPacket> packets;
    for (const auto& payload : payloads) writer->write_payload(milliseconds(40), payload, out, packets);
    ASSERT_EQ(packets.size(), payloads.size());
    for (size_t i = 0; i < packets.size(); ++i) {
        auto packet = rtp::PacketView::parse(out.bytes().subspan(packets[i].begin, packets[i].end - packets[i].begin));
        ASSERT_TRUE(packet) << i;
        rtp::Header expected{true, 97, static_cast<uint16_t>(0xffff + i), 1000 + 40 * 90, 0x11223344};
        EXPECT_EQ(packet->header(), expected) << i;
        EXPECT_TRUE(std::ranges::equal(packet->payload(), payloads[i])) << i;
    }
    auto frame = rtp::testing::video_frame(Codec::kH264, true, {nalu({0x65}, 100)});
    ASSERT_TRUE(writer->write(frame, out, packets)) << "frames may follow";
    EXPECT_EQ(
        rtp::PacketView::parse(out.bytes().subspan(packets[2].begin, packets[2].end - packets[2].begin))->sequence(),
        1);
    EXPECT_EQ(writer->sender_report(0, milliseconds(0)).packets, packets.size());
}

}  // namespace
}  // namespace convert

#include <gtest/gtest.h>

#include "media/audio_headers.h"
#include "protocol/rtp/payload/payload_testing.h"

namespace rtp {
namespace {

using media::Codec;

media::Frame audio_frame(Codec codec, std::span<const uint8_t> bytes) {
    media::Frame frame;
    frame.kind = media::Kind::kAudio;
    frame.codec = codec;
    frame.payload = base::Slice::copy(bytes);
    return frame;
}

TEST(OpusPayload, APacketIsAPayload) {
    auto packet = testing::hex("fc fffe 0102");
    std::vector<testing::Payload> out;
    ASSERT_TRUE(testing::packetize(*make_packetizer(Codec::kOpus, {}), audio_frame(Codec::kOpus, packet), out));
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].bytes, base::Slice::copy(packet));

    auto depacketizer = make_depacketizer({.codec = Codec::kOpus, .channels = 2});
    auto units = testing::take(*depacketizer, out, 960);
    ASSERT_EQ(units.size(), 2u);
    auto head = media::parse_opus_head(units[0].frame.payload);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->channels, 2);
    EXPECT_EQ(units[1].frame.payload, base::Slice::copy(packet));
    EXPECT_EQ(testing::take(*depacketizer, out, 1920).size(), 1u);  // the header is returned once
}

TEST(OpusPayload, WhatFitsNoPacketOrIsNoneIsRefused) {
    std::vector<testing::Payload> out;
    std::vector<uint8_t> large(1300, 0xfc);
    EXPECT_FALSE(testing::packetize(*make_packetizer(Codec::kOpus, {}), audio_frame(Codec::kOpus, large), out));
    auto depacketizer = make_depacketizer({.codec = Codec::kOpus, .channels = 2});
    std::vector<Unit> units;
    depacketizer->push({testing::hex("ff"), 0, false, false}, units);  // code 3 without its count
    depacketizer->push({{}, 0, false, false}, units);
    EXPECT_TRUE(units.empty());
    EXPECT_EQ(depacketizer->counters().malformed, 1u);
}

TEST(G711Payload, LongFramesAreCutIntoEqualParts) {
    std::vector<uint8_t> second(8000, 0xd5);
    std::vector<testing::Payload> out;
    PacketizerOptions options{.max_payload = 1000};
    ASSERT_TRUE(
        testing::packetize(*make_packetizer(Codec::kPcmAlaw, options), audio_frame(Codec::kPcmAlaw, second), out));
    ASSERT_EQ(out.size(), 8u);
    for (size_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(out[i].bytes.size(), 1000u);
        EXPECT_EQ(out[i].timestamp_offset, i * 1000);
    }
    auto depacketizer = make_depacketizer({.codec = Codec::kPcmAlaw, .channels = 1});
    auto units = testing::take(*depacketizer, out, 5);
    ASSERT_EQ(units.size(), 8u);
    EXPECT_EQ(units[7].timestamp, 7005u);
    EXPECT_EQ(units[0].frame.codec, Codec::kPcmAlaw);
}

}  // namespace
}  // namespace rtp

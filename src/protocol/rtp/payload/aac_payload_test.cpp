#include "protocol/rtp/payload/aac_payload.h"

#include <gtest/gtest.h>

#include "protocol/rtp/payload/payload_testing.h"

namespace rtp {
namespace {

using media::Codec;
using testing::Bytes;
using testing::hex;
using testing::push;

PayloadFormat hbr(int rate = 48000) {
    PayloadFormat format;
    format.codec = Codec::kAac;
    format.clock_rate = static_cast<uint32_t>(rate);
    format.channels = 2;
    format.aac_config = media::make_aac_config(2, rate, 2);
    return format;
}

media::Frame aac(const Bytes& bytes) {
    media::Frame frame;
    frame.kind = media::Kind::kAudio;
    frame.codec = Codec::kAac;
    frame.payload = base::Slice::copy(bytes);
    return frame;
}

TEST(AacPayload, AnAccessUnitIsAPacketWithItsSize) {
    std::vector<testing::Payload> out;
    ASSERT_TRUE(testing::packetize(*make_packetizer(Codec::kAac, {}), aac(hex("21 00 49 90 02")), out));
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].bytes, base::Slice::copy(hex("0010 0028 2100499002")));
    EXPECT_TRUE(out[0].marker);
}

TEST(AacPayload, ALongAccessUnitIsFragmentedWithItsWholeSize) {
    Bytes unit = testing::nalu({0x21}, 250);
    std::vector<testing::Payload> out;
    ASSERT_TRUE(testing::packetize(*make_packetizer(Codec::kAac, {.max_payload = 104}), aac(unit), out));
    ASSERT_EQ(out.size(), 3u);
    for (const testing::Payload& p : out) {
        EXPECT_LE(p.bytes.size(), 104u);
        EXPECT_EQ(p.bytes.sub(0, 4), base::Slice::copy(hex("0010 07d0")));  // 250 << 3
    }
    EXPECT_FALSE(out[1].marker);
    EXPECT_TRUE(out[2].marker);

    auto depacketizer = make_depacketizer(hbr());
    auto units = testing::take(*depacketizer, out, 7);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_TRUE(units[0].frame.sequence_header);
    EXPECT_EQ(units[0].frame.payload, base::Slice::copy(hex("1190")));
    EXPECT_EQ(units[1].frame.payload, base::Slice::copy(unit));
    EXPECT_EQ(units[1].timestamp, 7u);
}

TEST(AacPayload, TooLongIsAnError) {
    std::vector<testing::Payload> out;
    auto cut = testing::packetize(*make_packetizer(Codec::kAac, {}), aac(Bytes(8192, 0x21)), out);
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().text(), "an AAC frame of 8192 bytes; at most 8191");
}

TEST(AacPayload, SeveralAccessUnitsOfAPacketAreAFrameApart) {
    auto depacketizer = make_depacketizer(hbr());
    auto units = push(*depacketizer, hex("0030 0010 0018 0008  2101 210203 21"), 90);
    ASSERT_EQ(units.size(), 4u);
    EXPECT_EQ(units[1].frame.payload, base::Slice::copy(hex("2101")));
    EXPECT_EQ(units[1].timestamp, 90u);
    EXPECT_EQ(units[2].frame.payload, base::Slice::copy(hex("210203")));
    EXPECT_EQ(units[2].timestamp, 90u + 1024);
    EXPECT_EQ(units[3].timestamp, 90u + 2048);
}

// The clock of HE-AAC is that of its output: a frame is 2048 of its samples.
TEST(AacPayload, AFrameOfHeAacIsTwiceAsLong) {
    auto format = hbr();
    format.aac_config = base::Slice::copy(hex("2b118800"));  // SBR at 48 kHz above LC at 24 kHz
    ASSERT_EQ(media::parse_aac_config(format.aac_config)->core_sample_rate, 24000);
    auto depacketizer = make_depacketizer(format);
    auto units = push(*depacketizer, hex("0020 0008 0008  21 21"), 0);
    ASSERT_EQ(units.size(), 3u);
    EXPECT_EQ(units[2].timestamp, 2048u);
}

TEST(AacPayload, OtherFieldLengthsAndConstantSizes) {
    auto lbr = hbr();
    lbr.size_length = 6;
    lbr.index_length = lbr.index_delta_length = 2;
    auto units = push(*make_depacketizer(lbr), hex("0010 08 0c  2101 210203"), 0);
    ASSERT_EQ(units.size(), 3u);
    EXPECT_EQ(units[2].frame.payload, base::Slice::copy(hex("210203")));

    auto constant = hbr();
    constant.size_length = constant.index_length = constant.index_delta_length = 0;
    constant.constant_size = 2;
    units = push(*make_depacketizer(constant), hex("2101 2102"), 0);
    ASSERT_EQ(units.size(), 3u);
    EXPECT_EQ(units[2].frame.payload, base::Slice::copy(hex("2102")));
    EXPECT_EQ(units[2].timestamp, 1024u);
}

TEST(AacPayload, InterleavedUnitsAreRefusedWithAReason) {
    auto depacketizer = make_depacketizer(hbr());
    auto units = push(*depacketizer, hex("0020 0010 0011  2101 2102"), 0);  // AU-Index-delta 1
    EXPECT_EQ(depacketizer->counters().malformed, 1u);
    EXPECT_EQ(depacketizer->counters().defect, "interleaved access units are not supported");
}

TEST(AacPayload, ALostFragmentDropsItsAccessUnitOnly) {
    std::vector<testing::Payload> out;
    auto packetizer = make_packetizer(Codec::kAac, {.max_payload = 104});
    ASSERT_TRUE(testing::packetize(*packetizer, aac(testing::nalu({0x21}, 250)), out));
    auto depacketizer = make_depacketizer(hbr());
    push(*depacketizer, Bytes(out[0].bytes.begin(), out[0].bytes.end()), 0, false);
    EXPECT_TRUE(push(*depacketizer, Bytes(out[2].bytes.begin(), out[2].bytes.end()), 0, true, true).empty());
    auto units = push(*depacketizer, hex("0010 0010 2101"), 1024);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[1].timestamp, 1024u);
    EXPECT_EQ(depacketizer->counters().damaged, 2u);  // by the gap, and by the end without a beginning
}

TEST(AacPayload, MalformedPayloads) {
    for (const char* bytes :
         {"00", "0000", "0010", "0010 00", "0011 0010 00", "0010 0020 2101", "ffff 0010", "0020 0010 0018 2101 21"}) {
        auto depacketizer = make_depacketizer(hbr());
        auto units = push(*depacketizer, hex(bytes), 0);
        EXPECT_EQ(depacketizer->counters().malformed, 1u) << bytes;
        EXPECT_NE(depacketizer->counters().defect, "") << bytes;
    }
}

TEST(AacPayload, AdtsHeadersAreRemovedAndBelieved) {
    Bytes unit(7);
    media::AacConfig config;
    config.object_type = 2;
    config.core_sample_rate = 16000;
    config.channel_config = 1;
    ASSERT_TRUE(media::put_adts_header(config, 2, unit.data()));
    unit.insert(unit.end(), {0x21, 0x01});
    Bytes payload = hex("0010 0048");
    payload.insert(payload.end(), unit.begin(), unit.end());
    auto units = push(*make_depacketizer(hbr()), payload, 0);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[0].frame.payload, media::make_aac_config(2, 16000, 1));
    EXPECT_EQ(units[1].frame.payload, base::Slice::copy(hex("2101")));
}

TEST(AacPayload, WithoutAConfigurationTheClockRateIsUsed) {
    auto format = hbr(16000);
    format.aac_config = {};
    format.channels = 1;
    auto units = push(*make_depacketizer(format), hex("0010 0010 2101"), 0);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[0].frame.payload, media::make_aac_config(2, 16000, 1));
}

}  // namespace
}  // namespace rtp

#include "protocol/rtp/payload/mpeg_audio_payload.h"

#include <gtest/gtest.h>

#include "protocol/rtp/payload/payload_testing.h"

namespace rtp {
namespace {

using media::Codec;
using testing::Bytes;
using testing::hex;

// MPEG-1 layer III, 44.1 kHz, 128 kbit/s, without padding: 417 bytes, 1152 samples.
Bytes mp3_frame() {
    Bytes out = testing::nalu({0xff, 0xfb, 0x90, 0x64}, 417);
    return out;
}

media::Frame frame_of(const Bytes& bytes) {
    media::Frame frame;
    frame.kind = media::Kind::kAudio;
    frame.codec = Codec::kMp3;
    frame.payload = base::Slice::copy(bytes);
    return frame;
}

std::unique_ptr<Depacketizer> depacketizer() {
    PayloadFormat format;
    format.codec = Codec::kMp3;
    format.clock_rate = 90000;
    return make_depacketizer(format);
}

TEST(MpegAudioPayload, AFrameIsAPacketBehindFourBytes) {
    std::vector<testing::Payload> out;
    ASSERT_TRUE(testing::packetize(*make_packetizer(Codec::kMp3, {}), frame_of(mp3_frame()), out));
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].bytes.size(), 421u);
    EXPECT_EQ(out[0].bytes.sub(0, 8), base::Slice::copy(hex("00000000 fffb9064")));
    auto units = testing::take(*depacketizer(), out, 3);
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(units[0].frame.payload, base::Slice::copy(mp3_frame()));
}

TEST(MpegAudioPayload, FragmentsHaveTheirOffset) {
    std::vector<testing::Payload> out;
    ASSERT_TRUE(testing::packetize(*make_packetizer(Codec::kMp3, {.max_payload = 204}), frame_of(mp3_frame()), out));
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(out[1].bytes.sub(0, 4), base::Slice::copy(hex("0000008b")));  // 139
    auto units = testing::take(*depacketizer(), out, 3);
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(units[0].frame.payload, base::Slice::copy(mp3_frame()));
}

TEST(MpegAudioPayload, SeveralFramesOfAPacketAreAFrameApart) {
    Bytes payload = hex("00000000");
    for (int i = 0; i < 3; ++i)
        for (uint8_t byte : mp3_frame()) payload.push_back(byte);
    std::vector<Unit> units;
    depacketizer()->push({payload, 1000, false, false}, units);
    ASSERT_EQ(units.size(), 3u);
    EXPECT_EQ(units[1].timestamp, 1000u + 2351);  // 1152 samples of 44.1 kHz are 2351.02 ticks
    EXPECT_EQ(units[2].timestamp, 1000u + 4702);
}

TEST(MpegAudioPayload, LossAndMalformedPayloads) {
    std::vector<testing::Payload> out;
    ASSERT_TRUE(testing::packetize(*make_packetizer(Codec::kMp3, {.max_payload = 204}), frame_of(mp3_frame()), out));
    auto reader = depacketizer();
    std::vector<Unit> units;
    reader->push({out[0].bytes, 0, false, false}, units);
    reader->push({out[2].bytes, 0, false, true}, units);
    EXPECT_TRUE(units.empty());
    EXPECT_EQ(reader->counters().damaged, 1u);
    reader->push({out[0].bytes, 0, false, false}, units);
    reader->push({out[2].bytes, 0, false, false}, units);  // not marked as a gap
    EXPECT_EQ(reader->counters().malformed, 1u);
    for (const char* bytes : {"00", "00000000", "00000000 000102030405", "00000000 fffd9064 0000"}) {
        uint64_t before = reader->counters().malformed;
        reader->push({hex(bytes), 0, false, false}, units);
        EXPECT_EQ(reader->counters().malformed, before + 1) << bytes;
    }
    EXPECT_EQ(reader->counters().defect, "MPEG audio of layer I or II");
    EXPECT_TRUE(units.empty());
}

}  // namespace
}  // namespace rtp

#include <gtest/gtest.h>

#include "protocol/rtp/payload/keyframe.h"
#include "protocol/rtp/payload/payload_testing.h"

namespace rtp {
namespace {

using media::Codec;
using testing::Bytes;
using testing::hex;
using testing::take;

// From SVT-AV1, 320x180.
constexpr const char* kSequence = "0a0b0200000561e7f66017c002";
constexpr const char* kConfigObus = "81000c000a0b0200000561e7f66017c002";

void append(Bytes& out, const Bytes& more) { out.insert(out.end(), more.begin(), more.end()); }

// A frame OBU with its size in two bytes.
Bytes frame_obu(size_t size) {
    Bytes out{0x32, static_cast<uint8_t>(size & 0x7f)};
    out[1] |= size >= 0x80 ? 0x80 : 0;
    if (size >= 0x80) out.push_back(static_cast<uint8_t>(size >> 7));
    for (size_t i = 0; i < size; ++i) out.push_back(static_cast<uint8_t>(i * 5));
    return out;
}

media::Frame av1_frame(bool keyframe, const Bytes& obus) {
    media::Frame frame;
    frame.kind = media::Kind::kVideo;
    frame.codec = Codec::kAv1;
    frame.keyframe = keyframe;
    frame.payload = base::Slice::copy(obus);
    return frame;
}

struct Av1Payload : ::testing::Test {
    std::unique_ptr<Packetizer> packetizer = make_packetizer(Codec::kAv1, {.max_payload = 500});
    std::unique_ptr<Depacketizer> depacketizer = make_depacketizer({.codec = Codec::kAv1});
    void SetUp() override {
        ASSERT_TRUE(packetizer->set_header(testing::header_frame(Codec::kAv1, base::Slice::copy(hex(kConfigObus)))));
    }
    std::vector<testing::Payload> cut(const media::Frame& frame) {
        std::vector<testing::Payload> out;
        EXPECT_TRUE(testing::packetize(*packetizer, frame, out));
        return out;
    }
};

TEST_F(Av1Payload, AKeyframeGetsItsSequenceHeader) {
    auto payloads = cut(av1_frame(true, frame_obu(3000)));
    ASSERT_GE(payloads.size(), 7u);
    for (size_t i = 0; i < payloads.size(); ++i) {
        EXPECT_LE(payloads[i].bytes.size(), 500u) << i;
        if (i + 1 < payloads.size()) {
            EXPECT_EQ(payloads[i].bytes.size(), payloads[0].bytes.size()) << i;
        }
        EXPECT_EQ(is_keyframe(Codec::kAv1, payloads[i].bytes), i == 0);
    }
    auto units = take(*depacketizer, payloads, 90);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[0].frame.payload, base::Slice::copy(hex(kConfigObus)));
    EXPECT_TRUE(units[1].frame.keyframe);
    Bytes expected = hex(kSequence);
    append(expected, frame_obu(3000));
    EXPECT_EQ(units[1].frame.payload, base::Slice::copy(expected));
}

TEST_F(Av1Payload, EverySizeComesBack) {
    take(*depacketizer, cut(av1_frame(true, frame_obu(30))), 0);
    uint32_t timestamp = 0;
    for (size_t size = 1; size < 2100; size += size < 470 || size > 520 ? 37 : 1) {
        Bytes obus = frame_obu(size);
        append(obus, frame_obu(10));
        append(obus, {0x36, 0x20, 0x03, 1, 2, 3});  // with an extension
        auto payloads = cut(av1_frame(false, obus));
        for (const testing::Payload& p : payloads) EXPECT_LE(p.bytes.size(), 500u) << size;
        auto units = take(*depacketizer, payloads, timestamp += 3000);
        ASSERT_EQ(units.size(), 1u) << size;
        EXPECT_EQ(units[0].frame.payload, base::Slice::copy(obus)) << size;
    }
}

TEST_F(Av1Payload, DelimitersAreLeftOut) {
    Bytes obus = hex("1200");
    append(obus, hex(kSequence));
    append(obus, frame_obu(20));
    auto units = take(*depacketizer, cut(av1_frame(true, obus)), 0);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[1].frame.payload, base::Slice::copy(std::span(obus).subspan(2)));
    EXPECT_TRUE(cut(av1_frame(false, hex("1200"))).empty());
}

TEST_F(Av1Payload, AggregatesOfOthersAreRead) {
    // W is 2: the sequence header with a length, the frame without; neither has an OBU size field.
    auto begin = hex("28 0c 08 0200000561e7f66017c002 30 aabb");
    EXPECT_TRUE(is_keyframe(Codec::kAv1, begin));
    std::vector<Unit> out;
    depacketizer->push({begin, 0, true, false}, out);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[1].frame.payload, base::Slice::copy(hex("0a0b0200000561e7f66017c002 3202aabb")));
    out.clear();
    // W is 1 and the frame continues in the next packet.
    depacketizer->push({hex("50 30 aabb"), 1, false, false}, out);
    depacketizer->push({hex("90 ccdd"), 1, true, false}, out);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].frame.payload, base::Slice::copy(hex("3204aabbccdd")));
}

TEST_F(Av1Payload, AHoleDropsWhatItHit) {
    auto payloads = cut(av1_frame(true, frame_obu(1500)));
    for (size_t lost = 0; lost < payloads.size(); ++lost) {
        auto fresh = make_depacketizer({.codec = Codec::kAv1});
        std::vector<Unit> out;
        for (size_t i = 0; i < payloads.size(); ++i)
            if (i != lost) fresh->push({payloads[i].bytes, 9, payloads[i].marker, i == lost + 1}, out);
        auto next = take(*fresh, payloads, 3009, lost + 1 == payloads.size());
        EXPECT_TRUE(out.empty()) << lost;
        EXPECT_EQ(next.size(), 2u) << lost;
    }
}

TEST_F(Av1Payload, MalformedPayloadsAreCounted) {
    uint64_t count = 0;
    for (const char* text : {"00", "00 05 30", "80 02 30aa", "00 ffffffffff01", "00 02 b0aa", "00 03 32 05 aa"}) {
        std::vector<Unit> out;
        depacketizer->push({hex(text), static_cast<uint32_t>(++count), true, false}, out);
        EXPECT_TRUE(out.empty()) << text;
        EXPECT_EQ(depacketizer->counters().malformed, count) << text;
    }
    std::vector<testing::Payload> out;
    EXPECT_FALSE(testing::packetize(*packetizer, av1_frame(false, hex("32 05 aa")), out));
    EXPECT_FALSE(packetizer->set_header(testing::header_frame(Codec::kAv1, base::Slice::copy("no"))));
}

}  // namespace
}  // namespace rtp

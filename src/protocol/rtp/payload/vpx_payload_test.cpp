#include <gtest/gtest.h>

#include "protocol/rtp/payload/keyframe.h"
#include "protocol/rtp/payload/payload_testing.h"

namespace rtp {
namespace {

using media::Codec;
using testing::Bytes;
using testing::hex;
using testing::take;

media::Frame vpx_frame(Codec codec, bool keyframe, const char* begin, size_t size) {
    Bytes bytes = hex(begin);
    while (bytes.size() < size) bytes.push_back(static_cast<uint8_t>(bytes.size() * 3));
    media::Frame frame;
    frame.kind = media::Kind::kVideo;
    frame.codec = codec;
    frame.keyframe = keyframe;
    frame.payload = base::Slice::copy(bytes);
    return frame;
}

struct Codecs {
    Codec codec;
    const char* key;  // 320x180, from libvpx
    const char* other;
    size_t units;  // of a first keyframe
};
const Codecs kCodecs[] = {
    {Codec::kVp8, "b043009d012a4001b400", "b10200", 1},
    {Codec::kVp9, "824983420013f00b360438241c18", "8600", 2},
};

TEST(VpxPayload, FramesComeBackAndFragmentsHaveOneSize) {
    for (const Codecs& c : kCodecs) {
        auto packetizer = make_packetizer(c.codec, {.max_payload = 500});
        auto depacketizer = make_depacketizer({.codec = c.codec});
        uint32_t timestamp = 0;
        for (size_t size : {1600u, 20u, 496u, 497u, 498u, 3000u}) {
            bool keyframe = timestamp == 0;
            auto frame = vpx_frame(c.codec, keyframe, keyframe ? c.key : c.other, size);
            std::vector<testing::Payload> payloads;
            ASSERT_TRUE(testing::packetize(*packetizer, frame, payloads));
            for (size_t i = 0; i < payloads.size(); ++i) {
                EXPECT_LE(payloads[i].bytes.size(), 500u);
                if (i + 1 < payloads.size()) {
                    EXPECT_EQ(payloads[i].bytes.size(), payloads[0].bytes.size()) << i;
                }
                EXPECT_EQ(payloads[i].marker, i + 1 == payloads.size());
                EXPECT_EQ(is_keyframe(c.codec, payloads[i].bytes), keyframe && i == 0);
            }
            auto units = take(*depacketizer, payloads, timestamp += 3000);
            ASSERT_EQ(units.size(), keyframe ? c.units : 1u) << size;
            EXPECT_EQ(units.back().frame.payload, frame.payload) << size;
            EXPECT_EQ(units.back().frame.keyframe, keyframe);
        }
    }
}

TEST(VpxPayload, AHoleDropsWhatItHit) {
    for (const Codecs& c : kCodecs) {
        auto packetizer = make_packetizer(c.codec, {.max_payload = 500});
        for (size_t lost = 0; lost < 4; ++lost) {
            auto depacketizer = make_depacketizer({.codec = c.codec});
            std::vector<testing::Payload> payloads;
            ASSERT_TRUE(testing::packetize(*packetizer, vpx_frame(c.codec, true, c.key, 1700), payloads));
            ASSERT_EQ(payloads.size(), 4u);
            std::vector<Unit> out;
            for (size_t i = 0; i < 4; ++i)
                if (i != lost) depacketizer->push({payloads[i].bytes, 9, payloads[i].marker, i == lost + 1}, out);
            auto next = take(*depacketizer, payloads, 3009, lost == 3);
            EXPECT_TRUE(out.empty()) << lost;
            EXPECT_EQ(next.size(), c.units) << lost;
            EXPECT_EQ(depacketizer->counters().damaged, 1u) << lost;
        }
    }
}

TEST(VpxPayload, DescriptorsOfOthersAreRead) {
    struct Case {
        const char* name;
        Codec codec;
        const char* payload;
        bool keyframe;
    };
    const Case cases[] = {
        {"VP8, one byte", Codec::kVp8, "10 b0430012", true},
        {"VP8, picture id of 7 bits, TL0PICIDX, TID", Codec::kVp8, "90 f0 11 05 40 b0430012", true},
        {"VP8, second partition", Codec::kVp8, "11 b0430012", false},
        {"VP8, delta", Codec::kVp8, "9080 11 b1430012", false},
        {"VP8, cut short", Codec::kVp8, "90f0 11 05", false},
        {"VP9, flexible, no reference", Codec::kVp9, "9c 81 00 82498342", true},
        {"VP9, flexible, two references", Codec::kVp9, "dc 8100 03 02 8600", false},
        {"VP9, too many references", Codec::kVp9, "dc 8100 03 03 03 02 8600", false},
        {"VP9, layers", Codec::kVp9, "ac 8100 00 07 82498342", true},
        {"VP9, an upper spatial layer", Codec::kVp9, "ac 8100 02 07 82498342", false},
        {"VP9, with a scalability structure", Codec::kVp9, "8e 8100 18 0140 00b4 01 04 01 82498342", true},
        {"VP9, a structure cut short", Codec::kVp9, "8e 8100 18 0140", false},
    };
    for (const Case& c : cases) EXPECT_EQ(is_keyframe(c.codec, hex(c.payload)), c.keyframe) << c.name;
}

TEST(VpxPayload, WhatIsNoFrameIsCounted) {
    auto depacketizer = make_depacketizer({.codec = Codec::kVp9});
    std::vector<Unit> out;
    depacketizer->push({hex("8c810000"), 1, true, false}, out);
    depacketizer->push({hex("8c8100"), 2, true, false}, out);
    depacketizer->push({hex("8c8100 8600"), 3, true, false}, out);  // no keyframe received
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(depacketizer->counters().malformed, 2u);
    EXPECT_EQ(depacketizer->counters().undecodable, 1u);
}

}  // namespace
}  // namespace rtp

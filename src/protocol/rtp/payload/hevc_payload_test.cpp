#include <gtest/gtest.h>

#include "media/h265.h"
#include "protocol/rtp/payload/keyframe.h"
#include "protocol/rtp/payload/payload_testing.h"

namespace rtp {
namespace {

using media::Codec;
using testing::Bytes;
using testing::nalu;
using testing::take;
using testing::video_frame;

// From x265, Main, 768x320.
Bytes vps() { return testing::hex("40010c01ffff01600000030090000003000003003f959809"); }
Bytes sps() {
    return testing::hex("42010101600000030090000003000003003fa00602014165959a4932bc05a708000003000800000300c840");
}
Bytes pps() { return testing::hex("4401c172b46240"); }

struct HevcPayload : ::testing::Test {
    std::unique_ptr<Packetizer> packetizer = make_packetizer(Codec::kHevc, {.max_payload = 1000});
    std::unique_ptr<Depacketizer> depacketizer = make_depacketizer({.codec = Codec::kHevc});
    base::Slice config = *media::make_hevc_config(vps(), sps(), pps());

    void SetUp() override { ASSERT_TRUE(packetizer->set_header(testing::header_frame(Codec::kHevc, config))); }
    std::vector<testing::Payload> cut(const media::Frame& frame) {
        std::vector<testing::Payload> out;
        EXPECT_TRUE(testing::packetize(*packetizer, frame, out));
        return out;
    }
};

TEST_F(HevcPayload, AKeyframeComesBackWithItsConfiguration) {
    auto slice = nalu({0x26, 0x01}, 3000);
    auto frame = video_frame(Codec::kHevc, true, {{0x46, 0x01, 0x50}, slice});
    auto payloads = cut(frame);
    ASSERT_EQ(payloads.size(), 5u);
    EXPECT_EQ(payloads[0].bytes[0], 48 << 1);  // AP of VPS, SPS and PPS
    EXPECT_EQ(payloads[0].bytes[1], 1);
    EXPECT_EQ(payloads[1].bytes[0], 49 << 1);
    EXPECT_EQ(payloads[1].bytes[2], 0x80 | 19);
    EXPECT_EQ(payloads[4].bytes[2], 0x40 | 19);
    EXPECT_EQ(payloads[1].bytes.size(), payloads[2].bytes.size());
    EXPECT_TRUE(payloads[0].keyframe && payloads[4].marker);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(is_keyframe(Codec::kHevc, payloads[i].bytes), i < 2) << i;

    auto units = take(*depacketizer, payloads, 90);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[0].frame.payload, config);
    EXPECT_TRUE(units[1].frame.keyframe);
    EXPECT_EQ(units[1].frame.payload, video_frame(Codec::kHevc, true, {slice}).payload);
}

TEST_F(HevcPayload, UnitsWithStartCodesAreSeveralAndFragmentsMayLackTheirEnd) {
    const Bytes slice = nalu({0x26, 0x01}, 300);
    Bytes whole = vps();
    for (const Bytes& one : {sps(), pps(), slice}) {
        whole.insert(whole.end(), {0, 0, 0, 1});
        whole.insert(whole.end(), one.begin(), one.end());
    }
    std::vector<Unit> units = testing::push(*depacketizer, whole, 0);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[0].frame.payload, config);
    EXPECT_TRUE(units[1].frame.keyframe);
    EXPECT_EQ(units[1].frame.payload, video_frame(Codec::kHevc, true, {slice}).payload);

    depacketizer = make_depacketizer({.codec = Codec::kHevc});
    units.clear();
    for (size_t at = 2; at < whole.size(); at += 100) {
        const size_t end = std::min(whole.size(), at + 100);
        Bytes part{49 << 1, 1, static_cast<uint8_t>((at == 2 ? 0x80 : 0) | 32)};
        part.insert(part.end(), whole.begin() + static_cast<ptrdiff_t>(at),
                    whole.begin() + static_cast<ptrdiff_t>(end));
        depacketizer->push({part, 90, end == whole.size(), false}, units);
    }
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[0].frame.payload, config);
    EXPECT_EQ(units[1].frame.payload, video_frame(Codec::kHevc, true, {slice}).payload);
    EXPECT_EQ(depacketizer->counters().malformed, 0u);
}

TEST_F(HevcPayload, AHoleDropsWhatItHit) {
    take(*depacketizer, cut(video_frame(Codec::kHevc, true, {nalu({0x26, 0x01}, 30)})), 0);
    auto payloads = cut(video_frame(Codec::kHevc, false, {nalu({0x02, 0x01}, 3000)}));
    std::vector<Unit> out;
    for (size_t i = 1; i < payloads.size(); ++i)
        depacketizer->push({payloads[i].bytes, 3000, payloads[i].marker, i == 1}, out);
    EXPECT_TRUE(out.empty());
    EXPECT_EQ(take(*depacketizer, payloads, 6000).size(), 1u);
}

TEST_F(HevcPayload, MalformedPayloadsAreCounted) {
    uint64_t count = 0;
    for (const char* text : {"62", "6201", "620113", "6001 0005 2601", "6001", "6401 00", "7001 00"}) {
        std::vector<Unit> out;
        depacketizer->push({testing::hex(text), static_cast<uint32_t>(++count * 10), true, false}, out);
        EXPECT_TRUE(out.empty()) << text;
        EXPECT_EQ(depacketizer->counters().malformed, count) << text;
    }
}

}  // namespace
}  // namespace rtp

#include "protocol/ts/muxer.h"

#include <gtest/gtest.h>

#include "protocol/ts/crc32.h"
#include "protocol/ts/segment_muxer.h"
#include "protocol/ts/ts_testing.h"

namespace ts {
namespace {

using media::Codec;
using media::hex;
using testing::picture;
using testing::sound;

std::vector<uint8_t> write(Muxer& muxer, const media::Frame& frame) {
    std::vector<uint8_t> out(muxer.prepare(frame));
    EXPECT_EQ(out.size() % kPacketSize, 0u);
    EXPECT_EQ(muxer.write(out.data()), out.data() + out.size());
    for (size_t at = 0; at < out.size(); at += kPacketSize) EXPECT_EQ(out[at], kSyncByte) << at;
    return out;
}

struct Collect final : PacketSink {
    std::vector<uint8_t> bytes;
    void write(std::span<const uint8_t> packets) override {
        EXPECT_EQ(packets.size() % kPacketSize, 0u);
        bytes.insert(bytes.end(), packets.begin(), packets.end());
    }
};

Muxer& with_headers(Muxer& muxer) {
    EXPECT_TRUE(muxer.set_header(testing::avc_header()));
    EXPECT_TRUE(muxer.set_header(testing::aac_header()));
    return muxer;
}

}  // namespace

TEST(Crc32, OfMpeg) {
    EXPECT_EQ(crc32(hex("31 32 33 34 35 36 37 38 39")), 0x0376e6e7u);  // the check value of CRC-32/MPEG-2
    // The table that every tool writes for one program on PID 0x1000.
    EXPECT_EQ(crc32(hex("00 b0 0d 00 01 c1 00 00 00 01 f0 00 2a b1 04 b2")), 0u);
}

TEST(Program, Tables) {
    uint8_t out[kTablesSize];
    EXPECT_EQ(put_tables(out, {Codec::kH264, Codec::kAac}, 0, 5), out + sizeof out);
    auto pat = hex("47 40 00 15 00 00 b0 0d 00 01 c1 00 00 00 01 f0 00 2a b1 04 b2");
    pat.resize(kPacketSize, 0xff);
    EXPECT_EQ(std::vector<uint8_t>(out, out + kPacketSize), pat);
    auto pmt = hex("47 50 00 15 00 02 b0 17 00 01 c1 00 00 e1 00 f0 00 1b e1 00 f0 00 0f e1 01 f0 00 2f 44 b9 9b");
    pmt.resize(kPacketSize, 0xff);
    EXPECT_EQ(std::vector<uint8_t>(out + kPacketSize, out + 2 * kPacketSize), pmt);
}

TEST(Muxer, AKeyframe) {
    Muxer muxer;
    auto out = write(with_headers(muxer), picture(0, true, 20, 40));
    ASSERT_EQ(out.size(), 3 * kPacketSize);
    // 19 bytes of PES header, 6 of delimiter, 2 * 4 + 15 of parameter sets, 24 of the unit: 72, behind 112 of
    // adaptation.
    auto expected = hex("47 41 00 30 6f 50 00 00 00 00 7e 00");
    expected.resize(4 + 112, 0xff);
    auto pes =
        hex("00 00 01 e0 00 42 84 c0 0a 31 00 05 08 51 11 00 03 ec 31"
            "00 00 00 01 09 f0 00 00 00 01 67 42 c0 1e d9 00 a0 47 fe c8 00 00 00 01 68 cb 83 cb 20 00 00 00 01");
    expected.insert(expected.end(), pes.begin(), pes.end());
    auto payload = picture(0, true, 20).payload.sub(4);
    expected.insert(expected.end(), payload.begin(), payload.end());
    EXPECT_EQ(std::vector<uint8_t>(out.begin() + kTablesSize, out.end()), expected);
}

TEST(Muxer, EverySizeIsExact) {
    Muxer muxer;
    with_headers(muxer);
    int64_t dts = 0;
    for (size_t bytes = 1; bytes < 800; ++bytes) {
        for (bool video : {true, false}) {
            auto frame = video ? picture(dts, bytes % 10 == 0, bytes, bytes % 3 ? 0 : 40) : sound(dts, bytes);
            EXPECT_EQ(muxer.prepare(frame), muxer.prepare(frame));
            auto out = write(muxer, frame);
            EXPECT_EQ(muxer.write_some(out), 0u);
        }
        dts += 20;
    }
}

TEST(SegmentMuxer, JoinsAudio) {
    SegmentMuxer muxer;
    Collect sink;
    muxer.begin_segment();
    ASSERT_TRUE(muxer.write(testing::avc_header(), sink));
    ASSERT_TRUE(muxer.write(testing::aac_header(), sink));
    EXPECT_TRUE(sink.bytes.empty());
    ASSERT_TRUE(muxer.write(picture(0, true, 20), sink));
    EXPECT_EQ(sink.bytes.size(), 3 * kPacketSize);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(muxer.write(sound(i * 23, 50), sink));
    EXPECT_EQ(sink.bytes.size(), 3 * kPacketSize);
    muxer.flush(sink);
    EXPECT_EQ(sink.bytes.size(), 5 * kPacketSize);  // 5 * 57 + 14 bytes, no clock
    muxer.flush(sink);
    EXPECT_EQ(sink.bytes.size(), 5 * kPacketSize);
}

}  // namespace ts

#include "protocol/rtp/payload/latm_payload.h"

#include <gtest/gtest.h>

#include "protocol/rtp/payload/payload_testing.h"

namespace rtp {
namespace {

using testing::Bytes;
using testing::hex;
using testing::push;

// LC, 48 kHz, stereo, a frame per element.
constexpr const char* kMuxConfig = "400023203fc0";

PayloadFormat latm(const char* config) {
    PayloadFormat format;
    format.codec = media::Codec::kAac;
    format.clock_rate = 48000;
    format.latm = true;
    format.latm_config = base::Slice::copy(hex(config));
    return format;
}

// The bytes behind `bits` bits, "101": what follows is at no byte's boundary.
Bytes shifted(std::string_view bits, std::span<const uint8_t> bytes) {
    std::string all(bits);
    for (uint8_t byte : bytes)
        for (int i = 7; i >= 0; --i) all += byte >> i & 1 ? '1' : '0';
    while (all.size() % 8) all += '0';
    Bytes out(all.size() / 8);
    for (size_t i = 0; i < all.size(); ++i) out[i / 8] = static_cast<uint8_t>(out[i / 8] << 1 | (all[i] == '1'));
    return out;
}

TEST(LatmPayload, ReadsTheConfigurationOfADescription) {
    auto config = parse_stream_mux_config(hex(kMuxConfig));
    ASSERT_TRUE(config) << config.error().text();
    EXPECT_EQ(config->aac_config, base::Slice::copy(hex("1190")));
    EXPECT_EQ(config->frames, 1);
}

TEST(LatmPayload, RefusesOtherKindsWithAReason) {
    auto reason = [](const char* bytes) {
        auto config = parse_stream_mux_config(hex(bytes));
        return config ? std::string("accepted") : config.error().text();
    };
    EXPECT_EQ(reason("c00023203fc0"), "StreamMuxConfig: audioMuxVersion 1 is not supported");
    EXPECT_EQ(reason("40102320 3fc0"), "StreamMuxConfig: several programs or layers are not supported");
    EXPECT_EQ(reason("4000"), "StreamMuxConfig: AAC configuration of 1 bytes");
    EXPECT_EQ(reason("400023203fe0"), "StreamMuxConfig: too short");  // other data, whose length is missing
    EXPECT_EQ(reason("40002320"), "accepted");                        // as GStreamer writes it
    EXPECT_EQ(reason("40002420adca00"), "accepted");                  // the same, of 1210 and 56e500
    EXPECT_EQ(reason("40002420400000"), "StreamMuxConfig: frames of fixed length are not supported");
}

TEST(LatmPayload, AnElementIsAFrame) {
    auto depacketizer = make_depacketizer(latm(kMuxConfig));
    auto units = push(*depacketizer, hex("03 210203"), 5);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[0].frame.payload, base::Slice::copy(hex("1190")));
    EXPECT_EQ(units[1].frame.payload, base::Slice::copy(hex("210203")));
    EXPECT_EQ(units[1].timestamp, 5u);
}

TEST(LatmPayload, SeveralFramesOfAnElementAndLongOnes) {
    auto depacketizer = make_depacketizer(latm("410023203fc0"));  // numSubFrames 1: two frames
    Bytes first = testing::nalu({0x21}, 300);
    Bytes payload = hex("ff2d");
    payload.insert(payload.end(), first.begin(), first.end());
    for (uint8_t byte : hex("02 2101")) payload.push_back(byte);
    Bytes begin(payload.begin(), payload.begin() + 200), end(payload.begin() + 200, payload.end());
    EXPECT_TRUE(push(*depacketizer, begin, 0, false).empty());
    auto units = push(*depacketizer, end, 0);
    ASSERT_EQ(units.size(), 3u);
    EXPECT_EQ(units[1].frame.payload, base::Slice::copy(first));
    EXPECT_EQ(units[2].frame.payload, base::Slice::copy(hex("2101")));
    EXPECT_EQ(units[2].timestamp, 1024u);
}

TEST(LatmPayload, TheConfigurationMayBeInTheStream) {
    auto format = latm("");
    format.latm_config_in_band = true;
    auto depacketizer = make_depacketizer(format);
    // useSameStreamMux 1, before there is one.
    EXPECT_TRUE(push(*depacketizer, shifted("1", hex("02 2101")), 0).empty());
    EXPECT_EQ(depacketizer->counters().undecodable, 1u);
    // useSameStreamMux 0, then the 44 bits of kMuxConfig, then the frame.
    const std::string config = "01000000000000000010001100100000001111111100";
    auto units = push(*depacketizer, shifted("0" + config, hex("02 2101")), 1024);
    ASSERT_EQ(units.size(), 2u);
    EXPECT_EQ(units[0].frame.payload, base::Slice::copy(hex("1190")));
    EXPECT_EQ(units[1].frame.payload, base::Slice::copy(hex("2101")));
    units = push(*depacketizer, shifted("1", hex("02 2102")), 2048);
    ASSERT_EQ(units.size(), 1u);
    EXPECT_EQ(units[0].frame.payload, base::Slice::copy(hex("2102")));
}

TEST(LatmPayload, LossAndMalformedElements) {
    auto depacketizer = make_depacketizer(latm(kMuxConfig));
    EXPECT_TRUE(push(*depacketizer, hex("05 2102"), 0, false).empty());
    EXPECT_TRUE(push(*depacketizer, hex("06"), 0, true, true).empty());
    EXPECT_EQ(depacketizer->counters().damaged, 1u);
    EXPECT_TRUE(push(*depacketizer, hex("05 2102"), 1024).empty());
    EXPECT_EQ(depacketizer->counters().malformed, 1u);
    EXPECT_EQ(depacketizer->counters().defect, "a frame runs past the end of its AudioMuxElement");
    EXPECT_EQ(push(*depacketizer, hex("02 2102"), 2048).size(), 2u);
}

}  // namespace
}  // namespace rtp

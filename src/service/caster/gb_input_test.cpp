#include "service/caster/gb_input.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "service/caster/gb_channels.h"

namespace service::caster {
namespace {

using PacketBytes = std::vector<uint8_t>;

// "p" a pack, "x" something else; a digit behind it tells them apart. "|" a gap, "." the end of an access unit.
struct GbText final : GbUser {
    std::string text;
    void on_stream_bytes(std::span<const uint8_t> bytes, int64_t) override {
        text += GbInput::begins_stream(bytes) ? 'p' : 'x';
        text += static_cast<char>(bytes.back());
    }
    void on_gap() override { text += '|'; }
    void on_unit_end(int64_t) override { text += '.'; }
};

PacketBytes gb_packet(uint16_t sequence, uint32_t timestamp, bool marker, bool pack, char name) {
    PacketBytes out(rtp::kFixedHeaderSize);
    rtp::write_header(out.data(), {marker, 96, sequence, timestamp, 7});
    if (pack) out.insert(out.end(), {0, 0, 1, 0xba});
    out.push_back(static_cast<uint8_t>(name));
    return out;
}

struct GbCamera {
    explicit GbCamera(bool reorders) : input(reorders) {}
    GbInput input;
    GbText out;
    int64_t now_us = 0;
    void push(const PacketBytes& bytes) {
        const auto packet = rtp::PacketView::parse(bytes);
        ASSERT_TRUE(packet);
        input.push(*packet, now_us, out);
    }
    void push(uint16_t sequence, uint32_t timestamp, bool marker, bool pack, char name) {
        push(gb_packet(sequence, timestamp, marker, pack, name));
    }
};

TEST(GbInput, AnotherTimestampEndsAnAccessUnit) {
    GbCamera camera(false);
    camera.push(1, 0, false, true, '1');
    camera.push(2, 0, false, false, '2');
    camera.push(3, 0, false, true, '3');
    camera.push(4, 3600, false, true, '4');
    camera.push(5, 7200, false, false, '5');
    EXPECT_EQ(camera.out.text, "p1x2p3.p4x5") << "where a pack begins with it";
}

TEST(GbInput, AMarkerCountsOnceItIsKnownToBeRight) {
    GbCamera camera(false);
    uint16_t sequence = 0;
    for (uint32_t unit = 0; unit < 8; ++unit) {
        camera.push(sequence++, unit, false, true, 'a');
        camera.push(sequence++, unit, true, false, 'b');
    }
    EXPECT_EQ(camera.out.text, "paxb.paxb.paxb.paxb.paxb.paxb.paxb.paxb");
    camera.out.text.clear();
    camera.push(sequence++, 8, false, true, 'a');
    camera.push(sequence++, 8, true, false, 'b');
    EXPECT_EQ(camera.out.text, ".paxb.");
    camera.push(sequence++, 8, true, false, 'c');
    EXPECT_EQ(camera.out.text, ".paxb.xc") << "it was wrong";
}

TEST(GbInput, AMarkerInEachPacketIsNotBelieved) {
    GbCamera camera(false);
    uint16_t sequence = 0;
    for (uint32_t unit = 0; unit < 20; ++unit) {
        camera.push(sequence++, unit, true, true, 'a');
        camera.push(sequence++, unit, true, false, 'b');
    }
    EXPECT_EQ(camera.out.text.find("pa."), std::string::npos);
}

TEST(GbInput, MissingPacketsAreGaps) {
    GbCamera tcp(false);
    tcp.push(65'534, 0, false, true, '1');
    tcp.push(65'535, 0, false, false, '2');
    tcp.push(0, 0, false, false, '3');
    tcp.push(2, 0, false, false, '4');
    tcp.push(40'000, 0, false, true, '5');
    EXPECT_EQ(tcp.out.text, "p1x2x3|x4|p5") << "the number wraps; a jump is another start";
}

TEST(GbInput, DatagramsArePutInOrder) {
    GbCamera udp(true);
    udp.push(65'534, 0, false, true, '1');
    udp.push(0, 0, false, false, '3');
    udp.push(65'535, 0, false, false, '2');
    udp.push(2, 0, false, false, '5');
    udp.push(65'535, 0, false, false, 'x');
    EXPECT_EQ(udp.out.text, "p1x2x3");
    EXPECT_GT(udp.input.memory(), 0u);
    udp.now_us = 199'000;
    udp.input.on_tick(udp.now_us, udp.out);
    EXPECT_EQ(udp.out.text, "p1x2x3");
    udp.now_us = 201'000;
    udp.input.on_tick(udp.now_us, udp.out);
    EXPECT_EQ(udp.out.text, "p1x2x3|x5");
}

TEST(GbInput, AFloodBehindAGapIsBounded) {
    GbCamera udp(true);
    udp.push(0, 0, false, true, '0');
    for (uint16_t sequence = 2; sequence < 2'000; ++sequence) udp.push(sequence, 0, false, false, 'x');
    EXPECT_LT(udp.input.memory(), 400'000u);
    EXPECT_EQ(udp.out.text.substr(0, 5), "p0|xx");
}

TEST(GbInput, KnowsRtcp) {
    for (const int type : {200, 201, 202, 203, 204})
        EXPECT_TRUE(GbInput::is_rtcp(PacketBytes{0x80, static_cast<uint8_t>(type)}));
    for (const int type : {96, 224, 199, 205, 33})
        EXPECT_FALSE(GbInput::is_rtcp(PacketBytes{0x80, static_cast<uint8_t>(type)}));
    EXPECT_FALSE(GbInput::is_rtcp(PacketBytes{0x80}));
}

TEST(GbChannels, SsrcsAreDecimal) {
    struct SsrcCase {
        std::string text;
        std::optional<uint32_t> expected;
    };
    for (const auto& [text, expected] : {
             SsrcCase{"0", 0u},
             SsrcCase{"0100000001", 100'000'001u},
             SsrcCase{"4294967295", 4'294'967'295u},
             SsrcCase{"4294967296", {}},
             SsrcCase{"9999999999", {}},
             SsrcCase{"00000000001", {}},
             SsrcCase{"", {}},
             SsrcCase{"-1", {}},
             SsrcCase{"+1", {}},
             SsrcCase{" 1", {}},
             SsrcCase{"1 ", {}},
             SsrcCase{"0x1", {}},
             SsrcCase{"1.5", {}},
             SsrcCase{std::string("1\0", 2), {}},
         }) {
        const auto ssrc = parse_ssrc(text);
        EXPECT_EQ(ssrc ? std::optional(*ssrc) : std::nullopt, expected) << text;
    }
}

TEST(GbChannels, IdsAndSsrcsAreReservedUntilTheyAreReleased) {
    GbChannels channels;
    EXPECT_TRUE(channels.reserve({.id = "a", .ssrc = 1, .expires_us = 100}));
    EXPECT_EQ(channels.reserve({.id = "a", .ssrc = 2}).error().code(), base::Code::kBusy);
    EXPECT_EQ(channels.reserve({.id = "b", .ssrc = 1}).error().code(), base::Code::kBusy);
    EXPECT_TRUE(channels.reserve({.id = "b", .ssrc = 2, .expires_us = 200}));
    EXPECT_EQ(channels.find(1)->id, "a");
    EXPECT_EQ(channels.find(3), nullptr);
    channels.release(1);
    EXPECT_EQ(channels.find(1), nullptr);
    EXPECT_TRUE(channels.reserve({.id = "a", .ssrc = 1, .expires_us = 300}));
    channels.release(9);
    EXPECT_EQ(channels.size(), 2u);
}

TEST(GbChannels, ExpireWithoutASession) {
    GbChannels channels;
    EXPECT_TRUE(channels.reserve({.id = "a", .ssrc = 1, .expires_us = 100}));
    EXPECT_TRUE(channels.reserve({.id = "b", .ssrc = 2, .expires_us = 100}));
    channels.find(2)->session = reinterpret_cast<GbSession*>(&channels);
    EXPECT_EQ(channels.waiting(), 1u);
    EXPECT_FALSE(channels.take_expired(99));
    EXPECT_EQ(channels.take_expired(100)->id, "a");
    EXPECT_FALSE(channels.take_expired(1'000));
    EXPECT_EQ(channels.size(), 1u);
}

TEST(GbChannels, AreLimited) {
    GbChannels channels;
    for (uint32_t n = 0; n < GbChannels::kMax; ++n) ASSERT_TRUE(channels.reserve({.id = std::to_string(n), .ssrc = n}));
    EXPECT_EQ(channels.reserve({.id = "one more", .ssrc = 1u << 31}).error().code(), base::Code::kLimit);
}

}  // namespace
}  // namespace service::caster

#include "convert/rtp/packet_keeper.h"

#include <gtest/gtest.h>

#include "media/aac.h"
#include "protocol/rtp/payload/payload_testing.h"

namespace convert {
namespace {

using media::Codec;
using rtp::testing::Bytes;
using rtp::testing::h264_pps;
using rtp::testing::h264_sps;
using rtp::testing::nalu;

// The packets of a frame: their payloads, with '*' for a marker.
struct KeptPackets {
    bool unknown = true;
    bool with_earlier = false;
    std::vector<Bytes> payloads;
    std::string markers;
};

// A depacketizer and the keeper beside it.
struct KeptTrack {
    explicit KeptTrack(rtp::PayloadFormat format) : depacketizer(rtp::make_depacketizer(format)), keeper(format.codec) {
        if (format.codec != Codec::kH264) return;
        depacketizer->know(std::vector<Bytes>{h264_sps(), h264_pps()});
        push(nalu({0x41}, 10), 1);  // the keeper's first frame has no packets
    }
    // What came of the frames that the packet completed, without sequence headers.
    std::vector<KeptPackets> push(const Bytes& payload, uint32_t timestamp, bool marker = true,
                                  bool after_hole = false) {
        units.clear();
        const rtp::DepacketizerPacket packet{payload, timestamp, marker, after_hole};
        depacketizer->push(packet, units);
        std::vector<media::SourcePackets> kept;
        keeper.note(packet, units, kept);
        EXPECT_EQ(kept.size(), units.size());
        std::vector<KeptPackets> out;
        for (size_t i = 0; i < units.size(); ++i) {
            if (units[i].frame.sequence_header) continue;
            KeptPackets& got = out.emplace_back();
            got.unknown = kept[i].unknown();
            got.with_earlier = kept[i].with_earlier_frame();
            size_t at = 0;
            while (auto one = kept[i].next(at)) {
                got.payloads.emplace_back(one->payload.begin(), one->payload.end());
                got.markers += one->marker ? '*' : '.';
            }
        }
        return out;
    }
    std::unique_ptr<rtp::Depacketizer> depacketizer;
    PacketKeeper keeper;
    std::vector<rtp::Unit> units;
};

rtp::PayloadFormat h264_format() {
    rtp::PayloadFormat format;
    format.codec = Codec::kH264;
    return format;
}

rtp::PayloadFormat aac_format() {
    rtp::PayloadFormat format;
    format.codec = Codec::kAac;
    format.clock_rate = 48'000;
    format.channels = 2;
    format.aac_config = media::make_aac_config(2, 48'000, 2);
    return format;
}

Bytes aac_packet(const std::vector<Bytes>& units) {
    Bytes packet{0, static_cast<uint8_t>(16 * units.size())};
    for (const Bytes& unit : units) {
        packet.push_back(static_cast<uint8_t>(unit.size() >> 5));
        packet.push_back(static_cast<uint8_t>(unit.size() << 3));
    }
    for (const Bytes& unit : units) packet.insert(packet.end(), unit.begin(), unit.end());
    return packet;
}

TEST(PacketKeeper, AFrameHasAllItsPacketsWithTheirMarkers) {
    KeptTrack track(h264_format());
    const Bytes delimiter{9, 0xf0}, sei = nalu({6}, 20), slice = nalu({0x41}, 300);
    EXPECT_TRUE(track.push(delimiter, 3600, false).empty());
    EXPECT_TRUE(track.push(sei, 3600, false).empty());
    auto got = track.push(slice, 3600);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].payloads, (std::vector<Bytes>{delimiter, sei, slice})) << "also what is no part of the frame";
    EXPECT_EQ(got[0].markers, "..*");
}

TEST(PacketKeeper, AFrameWithoutAMarkerEndsAtTheNextTimestamp) {
    KeptTrack track(h264_format());
    const Bytes first = nalu({0x41}, 300), second = nalu({0x41}, 200);
    EXPECT_TRUE(track.push(first, 3600, false).empty());
    auto got = track.push(second, 7200, false);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].payloads, std::vector<Bytes>{first});
    got = track.push(nalu({0x41}, 100), 10'800);
    ASSERT_EQ(got.size(), 2u) << "this frame, and the one before";
    EXPECT_EQ(got[0].payloads, std::vector<Bytes>{second});
    EXPECT_EQ(got[1].payloads, std::vector<Bytes>{nalu({0x41}, 100)});
}

TEST(PacketKeeper, FirstFrameMayLackPackets) {
    KeptTrack track(h264_format());
    track.keeper = PacketKeeper(Codec::kH264);
    auto got = track.push(nalu({0x41}, 300), 3600);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_TRUE(got[0].unknown);
    EXPECT_FALSE(track.push(nalu({0x41}, 300), 7200)[0].unknown);
}

TEST(PacketKeeper, PacketsBeforeALossAreNotOfTheNextFrame) {
    KeptTrack track(h264_format());
    EXPECT_TRUE(track.push(nalu({0x41}, 300), 3600, false).empty());
    const Bytes slice = nalu({0x41, 0x80}, 200);
    auto got = track.push(slice, 7200, true, true);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].payloads, std::vector<Bytes>{slice});
}

TEST(PacketKeeper, KeyframesNeedTheirParameterSets) {
    KeptTrack track(h264_format());
    auto bare = track.push(nalu({0x65}, 300), 3600);
    ASSERT_EQ(bare.size(), 1u);
    EXPECT_TRUE(bare[0].unknown) << "a player may begin there: it is packetized with the sets of the description";
    track.push(h264_sps(), 7200, false);
    track.push(h264_pps(), 7200, false);
    auto whole = track.push(nalu({0x65}, 300), 7200);
    ASSERT_EQ(whole.size(), 1u);
    EXPECT_EQ(whole[0].payloads, (std::vector<Bytes>{h264_sps(), h264_pps(), nalu({0x65}, 300)}));
}

TEST(PacketKeeper, PacketsThatFitNoDatagramAreNotKept) {
    KeptTrack track(h264_format());
    EXPECT_FALSE(track.push(nalu({0x41}, 1400), 3600)[0].unknown);
    EXPECT_TRUE(track.push(nalu({0x41}, 1500), 7200)[0].unknown);
    track.push(nalu({0x41}, 1500), 10'800, false);
    EXPECT_TRUE(track.push(nalu({0x41}, 30), 10'800)[0].unknown) << "its first packet was too long";
    EXPECT_FALSE(track.push(nalu({0x41}, 30), 14'400)[0].unknown);
}

TEST(PacketKeeper, FillerIsNotPassedOn) {
    KeptTrack track(h264_format());
    for (int i = 0; i < 20; ++i) track.push(nalu({12}, 1000), 3600, false);
    EXPECT_TRUE(track.push(nalu({0x41}, 300), 3600)[0].unknown);
}

TEST(PacketKeeper, SeveralAacFramesOfOnePacket) {
    KeptTrack track(aac_format());
    const Bytes a(100, 'a'), b(120, 'b'), c(90, 'c');
    track.push(aac_packet({a}), 0);  // the first
    const Bytes packet = aac_packet({a, b, c});
    auto got = track.push(packet, 1024);
    ASSERT_EQ(got.size(), 3u);
    EXPECT_EQ(got[0].payloads, std::vector<Bytes>{packet});
    EXPECT_TRUE(got[1].with_earlier && got[2].with_earlier);
    EXPECT_TRUE(got[1].payloads.empty() && !got[1].unknown);
    got = track.push(aac_packet({a}), 4096);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].payloads, std::vector<Bytes>{aac_packet({a})});
}

TEST(PacketKeeper, AdtsHeadersAreNotPassedOn) {
    KeptTrack track(aac_format());
    track.push(aac_packet({Bytes(100, 'a')}), 0);
    Bytes unit{0xff, 0xf1, 0x4c, 0x80, 0, 0, 0xfc};
    unit.resize(107, 'a');
    unit[4] = 107 >> 3;
    unit[5] = (107 & 7) << 5 | 0x1f;
    auto got = track.push(aac_packet({unit}), 1024);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(track.units.back().frame.payload.size(), 100u) << "the header was removed";
    EXPECT_TRUE(got[0].unknown);
    EXPECT_FALSE(got[0].with_earlier);
}

TEST(PacketKeeper, FormatsThatPlayersAreNotTold) {
    EXPECT_TRUE(PacketKeeper::can_keep(h264_format()));
    EXPECT_TRUE(PacketKeeper::can_keep(aac_format()));
    rtp::PayloadFormat other = aac_format();
    other.latm = true;
    EXPECT_FALSE(PacketKeeper::can_keep(other));
    other = aac_format();
    other.size_length = 6;
    EXPECT_FALSE(PacketKeeper::can_keep(other));
    other = {};
    other.codec = Codec::kPcmAlaw;
    other.clock_rate = 16'000;
    EXPECT_FALSE(PacketKeeper::can_keep(other));
}

}  // namespace
}  // namespace convert

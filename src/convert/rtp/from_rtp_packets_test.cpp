// Packets of WebRTC publishers at logs of RTP formats.

#include <gtest/gtest.h>

#include "base/clock.h"
#include "convert/rtp/from_rtp.h"
#include "live/fanout/live_log.h"
#include "live/hub/registry.h"
#include "protocol/rtp/payload/payload_testing.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/testing.h"

namespace convert {
namespace {

using media::Codec;
using media::Kind;
using rtp::testing::Bytes;
using rtp::testing::nalu;

struct WhipPublisher : live::PublicationOwner {
    bool publisher_alive() const override { return true; }
    bool publishes_rtp() const override { return true; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
};

// Of each frame the sizes of its packets, '*' behind one with a marker; '-': not known.
std::string seen_packets;

struct PacketsEncoder final : live::WireEncoder {
    void encode_prefix(const media::TrackSet&, media::Time, bool, base::SliceBuilder&) override {}
    void set_source(const media::SourcePackets& next) override { source = &next; }
    size_t encoded_size(const media::Frame& frame) override {
        if (frame.sequence_header) return 0;
        if (!source) seen_packets += "-";
        size_t at = 0;
        while (const auto packet = source ? source->next(at) : std::nullopt)
            seen_packets += std::to_string(packet->payload.size()) + (packet->marker ? "*" : ",");
        seen_packets += " ";
        source = nullptr;
        return 1;
    }
    void encode(const media::Frame&, uint8_t* out) override { *out = 0; }
    bool carries(Kind) const override { return true; }
    const media::SourcePackets* source = nullptr;
};

std::unique_ptr<live::WireEncoder> make_packets_encoder(const live::LogKey&) {
    return std::make_unique<PacketsEncoder>();
}
const live::WireFormat kPackets{"packets", make_packets_encoder, true};

class FromRtpPackets : public runtime::testing::RuntimeTest {};

TEST_F(FromRtpPackets, VideoHasThePacketsThatItCameIn) {
    seen_packets.clear();
    live::Registry registry;
    WhipPublisher owner;
    const auto stream = registry.find_or_create({"v", "a", "s"}, {});
    auto acquired = stream->acquire(owner, false);
    ASSERT_TRUE(acquired);
    live::Publication publication = std::move(*acquired);
    live::RtpLane& lane = stream->rtp_lane();
    lane.set_tracks({{.kind = Kind::kVideo, .codec = Codec::kH264}}, 0);
    RtpToFrames bridge(publication, {});
    live::LiveLog& log = stream->log({&kPackets, {}});
    uint16_t sequence = 100;
    uint32_t timestamp = 0;
    const auto send = [&](const std::vector<Bytes>& payloads, size_t lost = SIZE_MAX) {
        for (size_t i = 0; i < payloads.size(); ++i, ++sequence)
            if (i != lost)
                lane.append(0, {sequence, timestamp, i + 1 == payloads.size(), payloads.size() > 2}, payloads[i],
                            base::monotonic_us());
        timestamp += 3000;
        EXPECT_TRUE(runtime::sleep_ms(2));
    };
    const std::vector<Bytes> key{rtp::testing::h264_sps(), rtp::testing::h264_pps(), nalu({0x65}, 900)};
    send(key);
    send({nalu({0x41}, 300), nalu({0x41}, 200)});
    send({nalu({0x41}, 500)});
    EXPECT_EQ(seen_packets, "- 300,200* 500* ") << "of the first frame the beginning may have been missed";
    seen_packets.clear();
    send(key);
    EXPECT_EQ(seen_packets, fmt::format("{},{},900* ", key[0].size(), key[1].size()));
    seen_packets.clear();
    send({nalu({0x41}, 300), nalu({0x41}, 200)}, 0);
    send({nalu({0x41}, 400)});
    EXPECT_EQ(seen_packets, "") << "a missing packet is awaited";
    bridge.on_tick(base::monotonic_ms() + 2000);
    send(key);
    EXPECT_EQ(seen_packets, fmt::format("{},{},900* ", key[0].size(), key[1].size()))
        << "nothing of the time without it";
    stream->drop_log(log);
}

}  // namespace
}  // namespace convert

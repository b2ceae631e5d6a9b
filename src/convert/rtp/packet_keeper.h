#pragma once
// PacketKeeper: the packets of one track from a publisher by RTP, kept until their frame is complete, so that players
// by RTP can get them unchanged (media/source_packets.h). Frames whose packets a player could not use as they are have
// none: those with a packet larger than a datagram, keyframes without their parameter sets, AAC with ADTS headers,
// payload formats that differ from those of our descriptions. A player gets them packetized. Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "media/source_packets.h"
#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/format.h"

namespace convert {

class PacketKeeper {
  public:
    // Bytes of a payload that players by UDP get in one datagram: an IP packet of 1,500 with UDP and RTP.
    static constexpr size_t kMaxPayload = 1500 - 28 - 12;

    // Whether players are told the same payload format.
    static bool can_keep(const rtp::PayloadFormat& format);

    // It may begin within a frame, whose first packets it does not have: the first frame has none.
    explicit PacketKeeper(media::Codec codec) : codec_(codec) {}

    // The packet that was passed to the depacketizer, and the units that came out. Sets result[i] of units[i].
    void note(const rtp::DepacketizerPacket& packet, std::span<const rtp::Unit> units,
              std::vector<media::SourcePackets>& result);

    size_t memory() const { return packets_.memory(); }  // bytes of allocations
    // Gives up the packets of the frame in progress, and releases their memory.
    void drop() {
        unusable_ = true;
        packets_ = {};
    }

  private:
    void reset();
    void add(const rtp::DepacketizerPacket& packet);
    bool give(const rtp::Unit& unit, std::span<const rtp::Unit> units, media::SourcePackets& to);
    bool has_sets() const;
    bool has_adts(std::span<const rtp::Unit> units) const;

    media::Codec codec_;
    bool begins_ = true;
    bool any_ = false;
    bool unusable_ = false;
    uint32_t timestamp_ = 0;  // of the packets
    size_t count_ = 0;
    size_t payload_bytes_ = 0;
    media::SourcePackets packets_;
    size_t expected_bytes_ = 0;  // of the frame before
};

}  // namespace convert

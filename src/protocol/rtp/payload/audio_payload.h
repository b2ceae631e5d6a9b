#pragma once
// Opus (RFC 7587: one packet is one payload) and G.711 (RFC 3551, 4.5.14: one byte is one sample at 8 kHz). An Opus
// packet is never split; a G.711 frame that is too long for a packet is split into equal parts. Redundancy (RED) is not
// supported.

#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/packetizer.h"

namespace rtp {

class AudioPacketizer final : public Packetizer {
  public:
    AudioPacketizer(media::Codec codec, const PacketizerOptions& options) : Packetizer(options), codec_(codec) {}
    base::Result<void> set_header(const media::Frame&) override { return {}; }

  private:
    base::Result<void> write_payloads(const media::Frame& frame) override;
    // The size of each payload but the last; 0: nothing to send.
    base::Result<size_t> part_size(const media::Frame& frame) const;

    media::Codec codec_;
};

class AudioDepacketizer final : public Depacketizer {
  public:
    // channels: 1 or 2.
    AudioDepacketizer(media::Codec codec, int channels) : codec_(codec), channels_(channels) {}
    void push(const DepacketizerPacket& packet, std::vector<Unit>& out) override;

  private:
    media::Frame frame_of(std::span<const uint8_t> payload) const;

    media::Codec codec_;
    int channels_;
    bool header_sent_ = false;
};

}  // namespace rtp

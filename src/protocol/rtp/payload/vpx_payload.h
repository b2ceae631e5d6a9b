#pragma once
// VP8 (RFC 7741) and VP9 (RFC 9628) frames: equal fragments behind a descriptor with a picture id of 15 bits. VP9 is
// written in non-flexible mode with one layer; of several received spatial layers, all frames of a picture make one
// unit, in their order. VP9's sequence header is derived from a keyframe's own header.

#include <utility>

#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/packetizer.h"

namespace rtp {

// The fields of a descriptor, and its size; 0 when the descriptor is invalid or has no payload behind it.
struct VpxDescriptor {
    size_t size = 0;
    bool begins_frame = false;
    bool begins_picture = false;   // VP9: begins_frame, and the frame is of the lowest spatial layer
    bool inter_predicted = false;  // VP9
};
VpxDescriptor parse_vpx_descriptor(media::Codec codec, std::span<const uint8_t> payload);

class VpxPacketizer final : public Packetizer {
  public:
    VpxPacketizer(media::Codec codec, const PacketizerOptions& options) : Packetizer(options), codec_(codec) {}
    base::Result<void> set_header(const media::Frame&) override { return {}; }

  private:
    base::Result<void> write_payloads(const media::Frame& frame) override;

    media::Codec codec_;
    uint16_t picture_id_ = 0;  // 15 bits
};

class VpxDepacketizer final : public Depacketizer {
  public:
    explicit VpxDepacketizer(media::Codec codec) : codec_(codec) {}
    void push(const DepacketizerPacket& packet, std::vector<Unit>& out) override;
    size_t memory() const override { return open_ || body_.capacity() > 1'000'000 ? body_.capacity() : 0; }
    void drop() override {
        damaged_ = true;
        std::vector<uint8_t>().swap(body_);
    }

  private:
    void take(const DepacketizerPacket& packet);
    void finish(std::vector<Unit>& out);

    media::Codec codec_;
    bool open_ = false;
    bool damaged_ = false;
    uint32_t timestamp_ = 0;
    std::vector<uint8_t> body_;
    base::Slice config_;
};

}  // namespace rtp

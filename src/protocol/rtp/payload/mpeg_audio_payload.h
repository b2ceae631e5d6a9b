#pragma once
// MP3 (RFC 2250, 3.5: MPA). Packetizer: a frame per packet, or parts of one. Depacketizer: several frames per packet,
// fragments. Layers I and II are not supported.

#include <utility>

#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/packetizer.h"

namespace rtp {

class MpegAudioPacketizer final : public Packetizer {
  public:
    explicit MpegAudioPacketizer(const PacketizerOptions& options) : Packetizer(options) {}
    base::Result<void> set_header(const media::Frame&) override { return {}; }

  private:
    base::Result<void> write_payloads(const media::Frame& frame) override;
};

class MpegAudioDepacketizer final : public Depacketizer {
  public:
    explicit MpegAudioDepacketizer(uint32_t clock_rate) : clock_rate_(clock_rate) {}
    void push(const DepacketizerPacket& packet, std::vector<Unit>& out) override;
    size_t memory() const override { return part_.capacity(); }
    void drop() override {
        drop_fragment();
        std::vector<uint8_t>().swap(part_);
    }

  private:
    bool take(const DepacketizerPacket& packet, std::vector<Unit>& out);
    bool take_frames(std::span<const uint8_t> data, uint32_t timestamp, std::vector<Unit>& out);
    bool take_fragment(size_t offset, std::span<const uint8_t> data, uint32_t timestamp, std::vector<Unit>& out);
    void append(std::span<const uint8_t> frame, uint32_t timestamp, std::vector<Unit>& out);
    void drop_fragment();
    bool defective(std::string_view defect);

    uint32_t clock_rate_;
    std::vector<uint8_t> part_;  // the begun frame
    size_t part_size_ = 0;       // of the whole frame; 0: none is begun
    uint32_t part_timestamp_ = 0;
};

}  // namespace rtp

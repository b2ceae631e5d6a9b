#pragma once
// AAC as MPEG4-GENERIC (RFC 3640, 3.3.6: AAC-hbr). Packetizer: one access unit per packet, or parts of one, with sizes
// of 13 bits. Depacketizer: several units per packet, fragments, and other lengths of the AU header's fields (AAC-lbr,
// constant sizes). Interleaved units (AU-Index-delta above 0) and the optional fields of AU headers (CTS, DTS, random
// access, auxiliary data) are not supported.

#include <utility>

#include "media/aac.h"
#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/packetizer.h"

namespace rtp {

class AacPacketizer final : public Packetizer {
  public:
    explicit AacPacketizer(const PacketizerOptions& options) : Packetizer(options) {}
    base::Result<void> set_header(const media::Frame& header) override;

  private:
    base::Result<void> write_payloads(const media::Frame& frame) override;
};

// Turns access units of AAC into units of a track: what MPEG4-GENERIC and LATM have in common. The configuration is
// returned before the first unit. Of an access unit with an ADTS header, as some cameras send them, the header is
// removed, and its configuration is used.
class AacUnits {
  public:
    explicit AacUnits(uint32_t clock_rate) : clock_rate_(clock_rate) {}
    // An AudioSpecificConfig. False: malformed, and the one before stays in force.
    bool set_config(base::Slice config);
    // Ticks of the RTP clock from the first access unit of a packet to this one.
    uint32_t offset(size_t index) const;
    // False: there is no configuration.
    bool append(std::span<const uint8_t> access_unit, uint32_t timestamp, std::vector<Unit>& out);

  private:
    std::span<const uint8_t> without_adts(std::span<const uint8_t> access_unit);

    uint32_t clock_rate_;
    base::Slice config_;
    int core_rate_ = 0;
    int samples_ = 1024;
    bool untold_ = false;  // the configuration was not returned yet
};

class AacDepacketizer final : public Depacketizer {
  public:
    // Without a configuration in the format, one is made for AAC LC of the clock rate and the channels.
    explicit AacDepacketizer(const PayloadFormat& format);
    void push(const DepacketizerPacket& packet, std::vector<Unit>& out) override;
    size_t memory() const override { return part_.capacity(); }
    void drop() override {
        drop_fragment();
        std::vector<uint8_t>().swap(part_);
    }

  private:
    // True: the payload is valid.
    bool take(const DepacketizerPacket& packet, std::vector<Unit>& out);
    bool take_without_headers(const DepacketizerPacket& packet, std::vector<Unit>& out);
    bool take_units(const DepacketizerPacket& packet, std::span<const uint8_t> headers, size_t bits,
                    std::span<const uint8_t> data, std::vector<Unit>& out);
    bool take_fragment(const DepacketizerPacket& packet, size_t unit_size, std::span<const uint8_t> data,
                       std::vector<Unit>& out);
    void drop_fragment();
    void deliver(std::span<const uint8_t> access_unit, uint32_t timestamp, std::vector<Unit>& out) {
        if (!units_.append(access_unit, timestamp, out)) ++counters_.undecodable;
    }
    bool defective(std::string_view defect);

    PayloadFormat format_;
    AacUnits units_;
    std::vector<uint8_t> part_;  // the begun access unit
    size_t part_size_ = 0;       // of the whole unit; 0: none is begun
    uint32_t part_timestamp_ = 0;
};

}  // namespace rtp

#pragma once
// Splits H.264 and HEVC frames (length-prefixed NAL units) into payloads. The parameter sets of the sequence header are
// sent before each keyframe, unless the frame has its own. Access unit delimiters and filler are omitted.

#include <utility>

#include "protocol/rtp/payload/nalu_format.h"
#include "protocol/rtp/payload/packetizer.h"

namespace rtp {

class NaluPacketizer final : public Packetizer {
  public:
    NaluPacketizer(media::Codec codec, const PacketizerOptions& options);
    base::Result<void> set_header(const media::Frame& header) override;

  private:
    base::Result<void> write_payloads(const media::Frame& frame) override;
    using Nalu = std::span<const uint8_t>;
    base::Result<void> collect(const media::Frame& frame);
    bool ends_packet(Nalu nalu) const;
    size_t group_size(size_t first) const;
    void put_group(size_t first, size_t count);
    void put_fragments(Nalu nalu);

    media::Codec codec_;
    const NaluFormat& format_;
    base::Slice header_;  // parameter_sets_ points into it
    std::vector<Nalu> parameter_sets_;
    int nalu_length_size_ = 0;  // 0: no sequence header received
    // The units of the frame in progress; a member only to reuse its memory.
    std::vector<Nalu> nalus_;
};

}  // namespace rtp

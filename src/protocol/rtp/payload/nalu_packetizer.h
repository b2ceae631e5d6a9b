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
    base::Result<void> packetize(const media::Frame& frame, std::vector<Payload>& out) override;

  private:
    using Nalu = std::span<const uint8_t>;
    base::Result<void> collect(const media::Frame& frame);
    bool ends_packet(Nalu nalu) const;
    size_t group_size(size_t first) const;
    void put_group(size_t first, size_t count);
    void put_fragments(Nalu nalu);
    void end_payload() { ends_.push_back(slab_.size()); }

    media::Codec codec_;
    const NaluFormat& format_;
    PacketizerOptions options_;
    base::Slice header_;  // parameter_sets_ points into it
    std::vector<Nalu> parameter_sets_;
    int nalu_length_size_ = 0;  // 0: no sequence header received
    // Of the frame in progress; members only to reuse their memory.
    std::vector<Nalu> nalus_;
    base::SliceBuilder slab_;
    std::vector<size_t> ends_;
};

}  // namespace rtp

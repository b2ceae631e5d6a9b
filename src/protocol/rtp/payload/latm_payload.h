#pragma once
// AAC as MP4A-LATM (RFC 6416): AudioMuxElements of ISO/IEC 14496-3, 1.7.3, with the StreamMuxConfig in the description
// (cpresent=0) or in the packets (cpresent=1). Receiving only. One program of one layer, frames of variable length,
// audioMuxVersion 0; several frames per element, fragments.

#include <optional>

#include "base/bits.h"
#include "protocol/rtp/payload/aac_payload.h"

namespace rtp {

struct StreamMuxConfig {
    base::Slice aac_config;   // AudioSpecificConfig
    int frames = 1;           // in an AudioMuxElement
    uint32_t other_bits = 0;  // of other data, behind the frames
};

// kProtocol: malformed, or a kind that is not supported.
base::Result<StreamMuxConfig> parse_stream_mux_config(std::span<const uint8_t> config);
base::Result<StreamMuxConfig> parse_stream_mux_config(base::BitReader& bits);

class LatmDepacketizer final : public Depacketizer {
  public:
    explicit LatmDepacketizer(const PayloadFormat& format);
    void push(const DepacketizerPacket& packet, std::vector<Unit>& out) override;
    size_t memory() const override { return element_.capacity() + frame_.capacity(); }
    void drop() override {
        (open_ ? damaged_ : uncertain_) = true;
        std::vector<uint8_t>().swap(element_);
        std::vector<uint8_t>().swap(frame_);
    }

  private:
    static constexpr size_t kMaxElement = 64 * 1024;
    void finish(std::vector<Unit>& out);
    bool take_element(std::vector<Unit>& out);
    bool defective(std::string_view defect);

    bool in_band_;
    AacUnits units_;
    std::optional<StreamMuxConfig> config_;
    bool open_ = false;
    bool damaged_ = false;
    bool uncertain_ = false;  // packets were lost before the next element
    uint32_t timestamp_ = 0;
    std::vector<uint8_t> element_;
    std::vector<uint8_t> frame_;
};

}  // namespace rtp

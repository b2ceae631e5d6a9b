#pragma once
// Assembles H.264 and HEVC payloads into access units of length-prefixed NAL units (four bytes). An access unit ends
// with the marker, or with the next timestamp when nothing was lost in between. Parameter sets go into the sequence
// header, which is returned before the keyframe that changed it. A recovery point is a keyframe too. Delimiters are
// dropped, and so are interleaved payloads (STAP-B, MTAP, FU-B, PACI), which our SDP answers never allow.
//
// Lenient where cameras differ: a fragment without its end bit ends with its access unit or before the next NAL unit,
// if no packet was lost; what should be one NAL unit may be several with start codes between them (Annex B).

#include <utility>

#include "media/recovery_point.h"
#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/nalu_format.h"

namespace rtp {

class NaluDepacketizer final : public Depacketizer {
  public:
    explicit NaluDepacketizer(media::Codec codec);
    void push(const DepacketizerPacket& packet, std::vector<Unit>& out) override;
    void know(std::span<const std::vector<uint8_t>> sets) override;
    size_t memory() const override;
    void drop() override;

  private:
    using Nalu = std::span<const uint8_t>;
    using Bytes = std::vector<uint8_t>;
    // An encoder sends one of each; a unit with more of one kind than this is malformed.
    static constexpr size_t kMaxParameterSets = 16;
    static constexpr size_t kKept = 1024 * 1024;        // bytes of memory that stay for the next unit
    static constexpr size_t kMaxParameterSet = 0xffff;  // bytes, as decoder configurations have them

    void begin(uint32_t timestamp);
    bool take(Nalu payload);
    Nalu without_start_code(Nalu payload);
    bool take_aggregate(Nalu payload);
    bool take_fragment(Nalu payload);
    bool end_fragment();
    bool take_nalu(Nalu nalu);
    bool may_have_start_codes(uint8_t type, Nalu nalu) const;
    bool take_byte_stream(Nalu stream, size_t first_code);
    bool take_one(Nalu nalu);
    void append(Nalu bytes) { body_.insert(body_.end(), bytes.begin(), bytes.end()); }
    bool record_parameter_set(uint8_t type, Nalu nalu);
    bool record_slice(uint8_t type, Nalu nalu);
    void finish(std::vector<Unit>& out);
    void emit(std::vector<Unit>& out);
    bool use_parameter_sets(std::vector<Unit>& out);
    base::Result<base::Slice> make_config() const;
    base::Slice copy_payload() const;

    media::Codec codec_;
    const NaluFormat& format_;

    // The unit in progress.
    bool open_ = false;
    uint32_t timestamp_ = 0;
    bool damaged_ = false;
    bool uncertain_ = false;  // packets were lost before it: its first slice must begin the picture
    bool has_slice_ = false;
    bool random_access_ = false;
    bool recovery_point_ = false;
    Bytes body_;
    std::vector<Bytes> vps_, sps_, pps_;  // received in this unit
    bool in_fragment_ = false;
    size_t fragment_at_ = 0;  // position of the fragmented unit's length in body_
    uint8_t fragment_type_ = 0;
    bool has_start_codes_ = false;  // the sender puts them into units

    media::RecoveryPoints recovery_points_;

    // The parameter sets in use.
    Bytes config_vps_, config_sps_, config_pps_;
    base::Slice config_;
    bool untold_ = false;  // set by know(), and its header was not returned yet
};

}  // namespace rtp

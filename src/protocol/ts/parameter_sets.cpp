#include "protocol/ts/parameter_sets.h"

#include <algorithm>

#include "media/h264.h"
#include "media/h265.h"

namespace ts {

std::optional<size_t> ParameterSets::kind_of(std::span<const uint8_t> nalu) const {
    if (codec_ == media::Codec::kHevc) {
        const uint8_t type = media::h265::nalu_type(nalu);
        if (type < media::h265::kVps || type > media::h265::kPps) return std::nullopt;
        return type - media::h265::kVps;
    }
    const uint8_t type = media::h264::nalu_type(nalu);
    if (type != media::h264::kSps && type != media::h264::kPps) return std::nullopt;
    return type - media::h264::kSps + 1;
}

bool ParameterSets::take(std::span<const uint8_t> nalu) {
    const auto kind = kind_of(nalu);
    if (!kind || came_ & 1u << *kind || nalu.size() > kMaxBytes) return false;
    came_ |= 1u << *kind;
    if (!std::ranges::equal(sets_[*kind], nalu)) {
        sets_[*kind].assign(nalu.begin(), nalu.end());
        changed_ = true;
    }
    return true;
}

base::Result<std::optional<base::Slice>> ParameterSets::changed_header() {
    const bool hevc = codec_ == media::Codec::kHevc;
    if (!changed_ || sets_[1].empty() || sets_[2].empty() || (hevc && sets_[0].empty())) return std::nullopt;
    changed_ = false;
    if (hevc) return TRY(media::make_hevc_config(sets_[0], sets_[1], sets_[2]));
    TRY(media::parse_h264_sps(sets_[1]));
    return TRY(media::make_avc_config(sets_[1], sets_[2]));
}

}  // namespace ts

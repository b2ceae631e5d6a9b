#pragma once
// ParameterSets: the parameter sets of a byte stream of H.264 or HEVC as a sequence header. The first set of each kind
// in an access unit goes into the header; further ones stay in the unit, because the header has one of each.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "media/codec.h"

namespace ts {

class ParameterSets {
  public:
    explicit ParameterSets(media::Codec codec = media::Codec::kNone) : codec_(codec) {}

    // The next units are of another access unit.
    void begin() { came_ = 0; }
    // Whether the unit is a parameter set that the header has now. Others belong to the access unit.
    bool take(std::span<const uint8_t> nalu);
    // Whether sets came in this access unit.
    bool came() const { return came_ != 0; }
    // The sequence header, if sets have changed since the last call and all kinds have come. An error: what came does
    // not make a header.
    base::Result<std::optional<base::Slice>> changed_header();

  private:
    static constexpr size_t kKinds = 3;          // VPS, SPS, PPS
    static constexpr size_t kMaxBytes = 0xffff;  // as decoder configurations have them
    std::optional<size_t> kind_of(std::span<const uint8_t> nalu) const;

    media::Codec codec_;
    std::vector<uint8_t> sets_[kKinds];
    unsigned came_ = 0;  // a bit for each kind
    bool changed_ = false;
};

}  // namespace ts

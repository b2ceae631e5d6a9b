#include "media/access_unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bits.h"
#include "media/h264.h"
#include "media/h265.h"
#include "media/nalu.h"
#include "media/recovery_point.h"

namespace media {

namespace {

constexpr uint8_t kHevcPrefixSei = 39, kHevcFirstIrap = 16, kHevcLastIrap = 23, kHevcFirstNoSlice = 32;

struct UnitKind {
    bool slice = false;
    bool random_access = false;
    bool sei = false;
};

UnitKind kind_of(Codec codec, std::span<const uint8_t> nalu) {
    if (codec == Codec::kH264) {
        const uint8_t type = h264::nalu_type(nalu);
        return {type >= h264::kSlice && type <= h264::kIdr, type == h264::kIdr, type == h264::kSei};
    }
    const uint8_t type = h265::nalu_type(nalu);
    return {type < kHevcFirstNoSlice, type >= kHevcFirstIrap && type <= kHevcLastIrap, type == kHevcPrefixSei};
}

// Partitions B and C of a slice have no type of their own.
bool is_h264_intra(std::span<const uint8_t> slice) {
    const uint8_t type = h264::nalu_type(slice);
    if (type == 3 || type == 4) return true;
    const auto slice_type = h264_slice_type(slice);
    return slice_type == 2 || slice_type == 4;
}

base::Result<AccessUnit> defect(std::span<const uint8_t> payload, int nalu_length_size, bool ok) {
    if (ok)
        return base::fail(base::Code::kProtocol,
                          fmt::format("an access unit of {} bytes without a NAL unit", payload.size()));
    return base::fail(base::Code::kProtocol,
                      fmt::format("a NAL unit's length prefix of {} bytes runs past the end of an access unit of {}",
                                  nalu_length_size, payload.size()));
}

}  // namespace

base::Result<AccessUnit> read_access_unit(Codec codec, std::span<const uint8_t> payload, int nalu_length_size,
                                          bool flagged) {
    CHECK(nalu_length_size >= 1 && nalu_length_size <= 4);
    NaluReader units(payload, nalu_length_size);
    AccessUnit unit;
    bool any = false, any_slice = false;
    bool intra = flagged && codec == Codec::kH264;  // as far as its slices were read
    while (const auto nalu = units.next()) {
        any = true;
        const UnitKind kind = kind_of(codec, *nalu);
        if (kind.sei && !any_slice) unit.recovery_point |= is_recovery_point(codec, *nalu);
        any_slice |= kind.slice;
        unit.keyframe |= kind.random_access;
        if (intra && kind.slice && !kind.random_access) intra = is_h264_intra(*nalu);
    }
    if (!units.ok() || !any) [[unlikely]]
        return defect(payload, nalu_length_size, units.ok());
    unit.keyframe |= flagged && (intra || !any_slice);
    unit.recovery_point &= any_slice && !unit.keyframe;
    return unit;
}

std::optional<uint8_t> h264_slice_type(std::span<const uint8_t> nalu) {
    const uint8_t type = h264::nalu_type(nalu);
    if (type != h264::kSlice && type != 2 && type != h264::kIdr) return std::nullopt;
    // Both numbers are within the first bytes, even with emulation prevention.
    constexpr size_t kFront = 16;
    const auto front = remove_emulation_prevention(nalu.subspan(1, std::min(nalu.size() - 1, kFront)));
    base::BitReader bits(front);
    bits.ue();  // first_mb_in_slice
    const uint32_t slice_type = bits.ue();
    if (!bits.ok()) return std::nullopt;
    return static_cast<uint8_t>(slice_type % 5);
}

}  // namespace media

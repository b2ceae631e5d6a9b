#include "media/h265_timing.h"

#include <algorithm>
#include <array>

#include "media/vui.h"

namespace media {

using base::BitReader;

namespace {

constexpr uint32_t kMaxSets = 64, kMaxPictures = 16, kMaxLongTerm = 32;

void skip_scaling_lists(BitReader& b) {
    for (int size = 0; size < 4; ++size) {
        for (int matrix = 0; matrix < 6 && b.ok(); matrix += size == 3 ? 3 : 1) {
            if (!b.bit()) {
                b.ue();  // a copy of another matrix
                continue;
            }
            if (size > 1) b.se();
            for (int i = 0; i < std::min(64, 1 << (4 + 2 * size)) && b.ok(); ++i) b.se();
        }
    }
}

// A short-term reference picture set: distances of pictures in output order, before and after the current one.
struct PictureSet {
    std::array<int32_t, kMaxPictures> before{}, after{};
    uint32_t befores = 0, afters = 0;
    uint32_t count() const { return befores + afters; }
    // Distances are within 16 bits; others are malformed.
    bool add(int32_t distance) {
        const bool is_before = distance < 0;
        uint32_t& n = is_before ? befores : afters;
        if (count() == kMaxPictures || distance > 0x8000 || distance < -0x8000) return false;
        (is_before ? before : after)[n++] = distance;
        return true;
    }
};

bool read_explicit_set(BitReader& b, PictureSet& set) {
    const uint32_t befores = b.ue(), afters = b.ue();
    if (!b.ok() || befores > kMaxPictures || afters > kMaxPictures) return false;
    for (int sign : {-1, 1}) {
        int64_t distance = 0;
        for (uint32_t i = 0; i < (sign < 0 ? befores : afters); ++i) {
            distance += sign * (int64_t{b.ue()} + 1);
            b.bit();
            if (!b.ok() || distance > 0x8000 || distance < -0x8000 || !set.add(static_cast<int32_t>(distance)))
                return false;
        }
    }
    return true;
}

// A set derived from the one before it, equations 7-61 and 7-62.
bool read_derived_set(BitReader& b, const PictureSet& from, PictureSet& set) {
    const bool negative = b.bit();
    const uint32_t step = b.ue();
    if (!b.ok() || step >= 0x8000) return false;
    const int32_t shift = negative ? -static_cast<int32_t>(step + 1) : static_cast<int32_t>(step + 1);
    std::array<bool, kMaxPictures + 1> uses{};
    for (uint32_t i = 0; i <= from.count(); ++i) uses[i] = b.bit() || b.bit();
    bool fits = b.ok();
    for (int sign : {-1, 1}) {
        auto add = [&](int32_t distance, bool used) {
            if (used && distance * sign > 0) fits = fits && set.add(distance);
        };
        const bool first_after = sign < 0;  // the nearest of the other side come first
        const auto side = [&](bool after, bool reversed) {
            const uint32_t n = after ? from.afters : from.befores;
            for (uint32_t i = 0; i < n; ++i) {
                const uint32_t at = reversed ? n - 1 - i : i;
                add((after ? from.after : from.before)[at] + shift, uses[after ? from.befores + at : at]);
            }
        };
        side(first_after, true);
        add(shift, uses[from.count()]);
        side(!first_after, false);
    }
    return fits;
}

bool skip_picture_sets(BitReader& b) {
    const uint32_t count = b.ue();
    if (!b.ok() || count > kMaxSets) return false;
    PictureSet last;
    for (uint32_t i = 0; i < count; ++i) {
        PictureSet set;
        const bool derived = i > 0 && b.bit();
        if (!(derived ? read_derived_set(b, last, set) : read_explicit_set(b, set))) return false;
        last = set;
    }
    return true;
}

void skip_pcm(BitReader& b) {
    b.skip(8);
    b.ue();
    b.ue();
    b.bit();
}

// vui_parameters up to the timing.
Time read_timing(BitReader& b) {
    skip_vui_colours(b);
    b.skip(3);  // neutral chroma, fields, frame or field information
    if (b.bit())
        for (int i = 0; i < 4; ++i) b.ue();  // default display window
    return b.bit() ? read_vui_duration(b, 1) : Time(0);
}

}  // namespace

Time read_hevc_frame_duration(BitReader& b, int order_bits) {
    for (int i = 0; i < 6; ++i) b.ue();  // block sizes and depths
    if (b.bit() && b.bit()) skip_scaling_lists(b);
    b.skip(2);
    if (b.bit()) skip_pcm(b);
    if (!skip_picture_sets(b)) return Time(0);
    if (b.bit()) {
        const uint32_t count = b.ue();
        if (!b.ok() || count > kMaxLongTerm) return Time(0);
        b.skip(count * static_cast<size_t>(order_bits + 1));
    }
    b.skip(2);
    return b.bit() && b.ok() ? read_timing(b) : Time(0);
}

}  // namespace media

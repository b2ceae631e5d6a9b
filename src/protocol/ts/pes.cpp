#include "protocol/ts/pes.h"

#include "protocol/ts/packet.h"

namespace ts {
namespace {

// Far from the limits of 64 bits: a sender that jumps for ever begins anew.
constexpr int64_t kMaxUnwrapped = int64_t{1} << 60;

uint64_t read_time_stamp(const uint8_t* p) {
    return uint64_t{p[0] & 0x0eu} << 29 | uint64_t{p[1]} << 22 | uint64_t{p[2] & 0xfeu} << 14 | uint64_t{p[3]} << 7 |
           p[4] >> 1;
}

}  // namespace

std::optional<PesHeader> read_pes_header(std::span<const uint8_t> pes) {
    if (pes.size() < 9 || pes[0] || pes[1] || pes[2] != 1 || pes[6] >> 6 != 2) return std::nullopt;
    PesHeader header;
    header.size = 9u + pes[8];
    if (header.size > pes.size()) return std::nullopt;
    header.scrambled = pes[6] & 0x30;
    if (pes[7] & 0x80) {
        if (pes[8] < 5) return std::nullopt;
        header.pts = header.dts = read_time_stamp(&pes[9]);
        if (pes[7] & 0x40) {
            if (pes[8] < 10) return std::nullopt;
            header.dts = read_time_stamp(&pes[14]);
        }
    }
    return header;
}

int64_t TimeUnwrapper::unwrap(uint64_t ticks) {
    if (!last_ || *last_ > kMaxUnwrapped || *last_ < -kMaxUnwrapped) {
        last_ = static_cast<int64_t>(ticks);
        return *last_;
    }
    const uint64_t forward = (ticks - static_cast<uint64_t>(*last_)) & kTickMask;
    auto distance = static_cast<int64_t>(forward);
    if (forward > kTickMask / 2) distance -= static_cast<int64_t>(kTickMask) + 1;
    last_ = *last_ + distance;
    return *last_;
}

}  // namespace ts

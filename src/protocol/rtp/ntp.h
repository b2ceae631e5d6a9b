#pragma once
// Wallclock time as RTCP has it (RFC 3550, 4): seconds since 1900 in 32.32 bits of fixed point, or the middle 32 bits
// of it. Round trip times from report blocks (6.4.1).

#include <cstdint>
#include <optional>

namespace rtp {

inline constexpr int64_t kNtpToUnixSeconds = 2'208'988'800;

inline uint64_t ntp_of_unix_us(int64_t us) {
    auto seconds = static_cast<uint64_t>(us / 1'000'000 + kNtpToUnixSeconds);
    auto fraction = (static_cast<uint64_t>(us % 1'000'000) << 32) / 1'000'000;
    return seconds << 32 | fraction;
}
inline int64_t unix_us_of_ntp(uint64_t ntp) {
    auto fraction = static_cast<int64_t>((ntp & 0xffffffff) * 1'000'000 >> 32);
    return (static_cast<int64_t>(ntp >> 32) - kNtpToUnixSeconds) * 1'000'000 + fraction;
}
// Converts one clock's NTP times to microseconds since 1970, continuously across the end of an era, such as that of
// 2036-02-07: each time is taken to be within 68 years of the first one. The first is taken to be in the era of 1900.
class NtpUnwrapper {
  public:
    int64_t us(uint64_t ntp) {
        if (!first_) first_ = ntp;
        const auto apart = static_cast<int64_t>(ntp - *first_);
        return unix_us_of_ntp(*first_) + (apart >> 32) * 1'000'000 + ((apart & 0xffffffff) * 1'000'000 >> 32);
    }

  private:
    std::optional<uint64_t> first_;
};

// Units of 1/65536 s; wraps after 18 hours.
inline uint32_t compact_ntp(uint64_t ntp) { return static_cast<uint32_t>(ntp >> 16); }
inline uint32_t compact_of_us(int64_t us) { return static_cast<uint32_t>((us << 16) / 1'000'000); }
inline int64_t us_of_compact(uint32_t compact) { return static_cast<int64_t>(compact) * 1'000'000 >> 16; }

// The round trip time in microseconds, from a report that arrived at `now_ntp`. Nothing when the reporter has not
// received a sender report yet, or when its delay is longer than the elapsed time.
inline std::optional<int64_t> round_trip_us(uint64_t now_ntp, uint32_t last_sr, uint32_t delay_since_sr) {
    if (last_sr == 0) return std::nullopt;
    uint32_t round_trip = compact_ntp(now_ntp) - last_sr - delay_since_sr;
    if (round_trip > 0x80000000) return std::nullopt;
    return us_of_compact(round_trip);
}

}  // namespace rtp

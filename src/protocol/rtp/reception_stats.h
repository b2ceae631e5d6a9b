#pragma once
// What a receiver reports about one SSRC (RFC 3550, 6.4.1): losses, jitter, the last sender report; computed as in
// appendices A.1 (without probation: SRTP has authenticated the packets), A.3 and A.8. The caller passes times in
// microseconds of any clock.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "protocol/rtp/ntp.h"

namespace rtp {

struct ReportBlock {
    uint32_t ssrc = 0;
    uint8_t fraction_lost = 0;      // of 256, since the last report
    int32_t cumulative_lost = 0;    // signed 24-bit value: duplicates count as -1
    uint32_t highest_sequence = 0;  // wraps << 16 | sequence
    uint32_t jitter = 0;            // in units of the RTP clock
    uint32_t last_sr = 0;           // compact NTP time of the last sender report, 0: none yet
    uint32_t delay_since_sr = 0;    // 1/65536 s
    friend bool operator==(const ReportBlock&, const ReportBlock&) = default;
};

// Converts the jitter of a report block to ms, at most a minute. clock_rate in Hz; 0: unknown.
inline uint32_t jitter_ms(uint32_t jitter, uint32_t clock_rate) {
    if (clock_rate == 0) return 0;
    return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{jitter} * 1000 / clock_rate, 60'000));
}

class ReceptionStats {
  public:
    // clock_rate in Hz, not 0.
    ReceptionStats(uint32_t ssrc, uint32_t clock_rate) : ssrc_(ssrc), clock_rate_(clock_rate) {}

    // Call it for each packet on arrival, except for those of RTX, which has its own SSRC. False: the sequence number
    // jumped so far that the packet may be a stray; if the next one continues from it, the jump is accepted.
    bool on_packet(uint16_t sequence, uint32_t timestamp, int64_t arrival_us);
    void on_sender_report(uint64_t ntp, int64_t arrival_us);

    // Nothing before the first packet. Starts a new interval for fraction_lost.
    std::optional<ReportBlock> report(int64_t now_us);

    uint64_t received() const { return received_; }
    int64_t lost() const { return expected() - static_cast<int64_t>(received_); }

  private:
    static constexpr uint16_t kMaxDropout = 3000, kMaxMisorder = 100;
    void begin(uint16_t sequence);
    void update_jitter(uint32_t timestamp, int64_t arrival_us);
    int64_t expected() const { return started_ ? static_cast<int64_t>(cycles_) + highest_ - base_ + 1 : 0; }

    uint32_t ssrc_, clock_rate_;
    bool started_ = false;
    uint16_t highest_ = 0, base_ = 0;
    int32_t bad_next_ = -1;  // the next sequence number that would confirm a jump
    uint64_t cycles_ = 0;    // wraps << 16
    uint64_t received_ = 0;
    int64_t expected_before_ = 0;
    uint64_t received_before_ = 0;
    uint32_t last_timestamp_ = 0;
    int64_t last_arrival_us_ = 0;
    uint32_t jitter_x16_ = 0;
    uint32_t last_sr_ = 0;
    int64_t last_sr_at_us_ = 0;
};

}  // namespace rtp

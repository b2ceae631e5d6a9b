#include "protocol/rtp/reception_stats.h"

#include <algorithm>

namespace rtp {

void ReceptionStats::begin(uint16_t sequence) {
    base_ = highest_ = sequence;
    bad_next_ = -1;
    cycles_ = 0;
    received_ = received_before_ = 0;
    expected_before_ = 0;
}

bool ReceptionStats::on_packet(uint16_t sequence, uint32_t timestamp, int64_t arrival_us) {
    bool first = !started_;
    if (first) {
        started_ = true;
        begin(sequence);
    }
    auto step = static_cast<uint16_t>(sequence - highest_);
    if (step < kMaxDropout) {
        if (sequence < highest_) cycles_ += 0x10000;
        highest_ = sequence;
        bad_next_ = -1;
    } else if (step <= 0x10000 - kMaxMisorder) {
        if (sequence != bad_next_) {
            bad_next_ = static_cast<uint16_t>(sequence + 1);
            return false;
        }
        begin(sequence);  // two consecutive packets: the sender has restarted its sequence numbers
        first = true;
    }
    ++received_;
    // The transit time of a late packet is not used for the jitter.
    if (first || step < kMaxDropout) {
        if (!first) update_jitter(timestamp, arrival_us);
        last_timestamp_ = timestamp;
        last_arrival_us_ = arrival_us;
    }
    return true;
}

void ReceptionStats::update_jitter(uint32_t timestamp, int64_t arrival_us) {
    int64_t arrived = (arrival_us - last_arrival_us_) * clock_rate_ / 1'000'000;
    int64_t sent = static_cast<int32_t>(timestamp - last_timestamp_);
    int64_t difference = arrived > sent ? arrived - sent : sent - arrived;
    // A jump of the timestamps, or a pause of the sender, is not jitter.
    if (difference > 5 * int64_t{clock_rate_}) return;
    int64_t next = jitter_x16_ + difference - ((int64_t{jitter_x16_} + 8) >> 4);
    jitter_x16_ = static_cast<uint32_t>(std::clamp<int64_t>(next, 0, UINT32_MAX));
}

void ReceptionStats::on_sender_report(uint64_t ntp, int64_t arrival_us) {
    last_sr_ = compact_ntp(ntp);
    last_sr_at_us_ = arrival_us;
}

std::optional<ReportBlock> ReceptionStats::report(int64_t now_us) {
    if (!started_) return std::nullopt;
    int64_t expected_now = expected() - expected_before_;
    int64_t lost_now = expected_now - static_cast<int64_t>(received_ - received_before_);
    expected_before_ = expected();
    received_before_ = received_;
    ReportBlock block;
    block.ssrc = ssrc_;
    if (expected_now > 0 && lost_now > 0) {
        block.fraction_lost = static_cast<uint8_t>(std::min<int64_t>(255, (lost_now << 8) / expected_now));
    }
    block.cumulative_lost = static_cast<int32_t>(std::clamp<int64_t>(lost(), -0x800000, 0x7fffff));
    block.highest_sequence = static_cast<uint32_t>(cycles_ + highest_);
    block.jitter = jitter_x16_ >> 4;
    block.last_sr = last_sr_;
    if (last_sr_ != 0) block.delay_since_sr = compact_of_us(std::max<int64_t>(0, now_us - last_sr_at_us_));
    return block;
}

}  // namespace rtp

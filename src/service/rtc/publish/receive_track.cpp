#include "service/rtc/publish/receive_track.h"

#include "protocol/rtp/rtx.h"

namespace service::rtc {

ReceiveTrack::ReceiveTrack(const ReceiveFormat& format)
    // A packet may arrive a few ms out of order; requesting it then would be useless.
    : format_(format), nacks_(rtp::NackTracker::Options{.reorder_ms = 10}) {}

void ReceiveTrack::learn(uint32_t ssrc, bool rtx) { (rtx ? format_.rtx_ssrc : format_.track.ssrc) = ssrc; }

void ReceiveTrack::follow(uint32_t ssrc, int64_t now_ms) {
    format_.track.ssrc = ssrc;
    format_.rtx_ssrc = 0;
    stats_.reset();
    report_.reset();
    nacks_.restart();
    has_bye_ = false;
    followed_ms_ = heard_ms_ = now_ms;
}

bool ReceiveTrack::may_learn_rtx(const rtp::PacketView& packet) const {
    if (format_.rtx_ssrc != 0) return false;
    const bool changed = followed_ms_ >= 0;
    return !changed || answers(packet);
}

bool ReceiveTrack::answers(const rtp::PacketView& rtx) const {
    const auto payload = rtx.payload();
    return payload.size() >= rtp::kRtxOverhead && nacks_.awaits(rtp::get_u16(payload.data()));
}

void ReceiveTrack::on_sender_report(uint64_t ntp, int64_t ntp_us, uint32_t timestamp, int64_t now_us) {
    if (stats_) stats_->on_sender_report(ntp, now_us);
    if (ntp != 0) report_ = {ntp_us, timestamp};  // a sender without a clock sends 0 (RFC 3550, 6.4.1)
}

std::optional<int64_t> ReceiveTrack::moment_us(uint32_t timestamp) const {
    if (!report_) return std::nullopt;
    const auto ticks = static_cast<int32_t>(timestamp - report_->timestamp);
    return report_->ntp_us + int64_t{ticks} * 1'000'000 / format_.track.clock_rate;
}

void ReceiveTrack::on_packet(const rtp::PacketView& packet, bool by_rtx, int64_t now_us) {
    ++packets_;
    if (format_.nack) (void)nacks_.on_packet(packet.sequence(), now_us / 1000);
    if (by_rtx) {
        ++by_rtx_;
        return;
    }
    heard_ms_ = now_us / 1000;
    if (!stats_) stats_.emplace(ssrc(), format_.track.clock_rate);
    (void)stats_->on_packet(packet.sequence(), packet.timestamp(), now_us);
}

}  // namespace service::rtc

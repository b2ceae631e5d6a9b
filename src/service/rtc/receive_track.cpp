#include "service/rtc/receive_track.h"

namespace service::rtc {

ReceiveTrack::ReceiveTrack(const ReceiveFormat& format)
    // A packet may overtake another by a few ms; asking for it would be for nothing.
    : format_(format), nacks_(rtp::NackTracker::Options{.reorder_ms = 10}) {}

void ReceiveTrack::learn(uint32_t ssrc, bool rtx) { (rtx ? format_.rtx_ssrc : format_.track.ssrc) = ssrc; }

void ReceiveTrack::on_packet(const rtp::PacketView& packet, bool by_rtx, int64_t now_us) {
    ++packets_;
    if (format_.nack) (void)nacks_.on_packet(packet.sequence(), now_us / 1000);
    if (by_rtx) {
        ++by_rtx_;
        return;
    }
    if (!stats_) stats_.emplace(ssrc(), format_.track.clock_rate);
    (void)stats_->on_packet(packet.sequence(), packet.timestamp(), now_us);
}

}  // namespace service::rtc

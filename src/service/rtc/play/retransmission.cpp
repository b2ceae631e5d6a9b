// A player's lost packets are sent again when its viewer's NACKs ask for them: the packets of the stream's ring, under
// the numbers that they had, within a credit of what was sent for the first time.

#include <algorithm>
#include <memory>
#include <utility>

#include "service/rtc/play/player.h"
#include "service/rtc/stats.h"

namespace service::rtc {

// For what was sent since the last time: nothing is counted for each packet.
void Player::earn_credit() {
    uint32_t octets = 0;
    for (const SendTrack& track : tracks_) octets += track.octets();
    const uint32_t earned = (octets - std::exchange(credited_octets_, octets)) / 2;
    credit_ = static_cast<int32_t>(std::min<int64_t>(int64_t{credit_} + earned, kMaxCredit));
}

void Player::on_nack(SendTrack& track, uint16_t sequence, int64_t now_ms) {
    RtcStats& all = rtc_stats();
    ++counters_.nacks;
    ++all.nacks;
    const auto ring_sequence = track.to_ring_sequence(sequence);
    const Reading reading = reading_of(track);
    const live::RtpPacket* packet = ring_sequence && reading.track >= 0
                                        ? reading.lane.ring().find(static_cast<uint8_t>(reading.track), *ring_sequence)
                                        : nullptr;
    if (!packet || !track.answers_nack()) {
        ++counters_.nacks_unknown;
        ++all.nacks_unknown;
        return;
    }
    if (!retransmission_log_) retransmission_log_ = std::make_unique<RetransmissionLog>();
    const auto now = static_cast<uint32_t>(now_ms);
    const auto size = static_cast<int32_t>(packet->payload.size()) + 20;
    earn_credit();
    RetransmissionLog::Packet* again = retransmission_log_->find(track.kind(), sequence, now);
    const bool was_sent_late = packet->late && track.to_viewer_sequence(*ring_sequence) != 0;
    if (again && again->tries == 0 && was_sent_late) again->sent(static_cast<uint32_t>(packet->arrival_us / 1000));
    if (!again || !again->is_due(now, round_trips_.shortest_ms(), track.has_rtx()) ||
        (again->tries > 0 && credit_ < size + again->tries * kCreditPerTry)) {
        ++counters_.nacks_repeated;
        ++all.nacks_repeated;
        return;
    }
    SendCredit* link = paced_ ? &paced_->link : has_layer() ? layers_->credit() : nullptr;
    const uint32_t link_kbps = has_layer() ? layers_->paced_kbps() : bandwidth_.kbps();
    if (link && (!link->may_retransmit(link_kbps) || (paced_ && expects_layer(now_ms * 1000)))) {
        ++counters_.nacks_refused;
        ++all.nacks_refused;
        return;
    }
    if (credit_ < size) {
        ++counters_.nacks_refused;
        ++all.nacks_refused;
        if (track.kind() != media::Kind::kVideo) return;
        has_layer() ? layers_->jump(now_ms) : apply(cursor_.jump(lane_.ring()), now_ms);
        return;
    }
    again->sent(now);
    if (track.kind() == media::Kind::kVideo) video_losses_.on_request(now_ms);
    credit_ -= size;
    if (link) link->spend(static_cast<size_t>(size));
    track.stamp(runtime::now_us());
    ++counters_.retransmitted;
    ++all.retransmitted;
    // The number under which it was sent, which may be before a jump.
    const uint64_t number = track.highest() - static_cast<uint16_t>(static_cast<uint16_t>(track.highest()) - sequence);
    const SendTrack::Retransmission sent = track.retransmission(*packet, number);
    uint8_t first[2];
    base::put_u16(first, sequence);
    session_.send_rtp(sent.header, track.has_rtx() ? std::span<const uint8_t>(first) : std::span<const uint8_t>(),
                      packet->payload, sent.index);
}

}  // namespace service::rtc

// Which layer of simulcast a player is sent: the largest one that its URL permits and its link takes, and whether the
// link takes a larger one, by a probe.

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "runtime/loop/clock.h"
#include "service/rtc/play/player.h"

namespace service::rtc {

namespace {

bool is_larger(const live::RtpLayer& a, const live::RtpLayer& b) {
    return std::pair(a.pixels(), a.kbps) > std::pair(b.pixels(), b.kbps);
}

}  // namespace

// Bitrates vary: what is sent already, or being probed, needs no margin.
uint32_t PlayerLayers::need_of(const live::RtpLayer& layer) const {
    const live::RtpLayer* current = target_ ? target_ : player_.lane_.layers()->carried();
    const bool is_used = &layer == current || (probe_ && &layer == &probe_->to);
    return layer.kbps + (is_used ? 0 : layer.kbps / 8) + kAudioKbps;
}

bool PlayerLayers::fits(const live::RtpLayer& layer) const {
    return !player_.bandwidth_.is_short() || need_of(layer) <= player_.bandwidth_.kbps();
}

// Of the largest layer that the wish permits.
uint64_t PlayerLayers::max_pixels(const live::RtpLayers& layers) const {
    uint64_t most = UINT64_MAX;
    for (const live::RtpLayer& layer : layers.all()) {
        if (layer.pixels() > 0 && layer.rid == wish_.rid) most = std::min(most, layer.pixels());
        if (wish_.max_height > 0 && layer.height > wish_.max_height) most = std::min(most, layer.pixels() - 1);
    }
    return most;
}

// Null: the one that the stream's lane carries.
const live::RtpLayer* PlayerLayers::best(const live::RtpLayers& layers) const {
    const uint64_t most = max_pixels(layers);
    const live::RtpLayer *best = nullptr, *least = nullptr;
    bool is_limited = false;
    for (const live::RtpLayer& layer : layers.all()) {
        is_limited |= layer.pixels() > most;
        if (!layer.is_sent || layer.pixels() == 0 || layer.pixels() > most) continue;
        if (!least || is_larger(*least, layer)) least = &layer;
        if (fits(layer) && (!best || is_larger(layer, *best))) best = &layer;
    }
    // Where none fits, the stream is measured out.
    if (!best) return is_limited ? least : nullptr;
    const live::RtpLayer* carried = layers.carried();
    return is_limited || (carried && is_larger(*carried, *best)) ? best : nullptr;
}

void PlayerLayers::choose(int64_t now_ms) {
    const live::RtpLayers* layers = player_.lane_.layers();
    if (!layers || player_.video_ < 0) return;
    // Another video track of the stream may be the one that was negotiated.
    if (player_.lane_track_of(video()) != player_.lane_.track_of(media::Kind::kVideo)) return;
    const live::RtpLayer* wanted = best(*layers);
    const live::RtpLayer *from = target_ ? target_ : layers->carried(), *to = wanted ? wanted : layers->carried();
    const bool is_raised = wanted != target_ && from && to && is_larger(*to, *from);
    // The estimate has fallen since it began, or a queue has grown.
    if (probe_ && (!is_raised || probe_result(now_ms) == LayerProbe::Result::kFailed)) return fail_probe(now_ms);
    if (wanted == target_ || (is_raised && !may_raise(*from, *to, now_ms))) return;
    probe_.reset();
    is_lowered_ = !is_raised && player_.bandwidth_.is_short();
    if (is_lowered_)
        wait_ms_ = now_ms - raised_ms_ < 2 * kFirstWaitMs ? std::min(2 * wait_ms_, kMaxWaitMs) : kFirstWaitMs;
    if (is_raised) raised_ms_ = now_ms;
    changed_ms_ = now_ms;
    change_to(wanted, now_ms);
}

bool PlayerLayers::may_raise(const live::RtpLayer& from, const live::RtpLayer& to, int64_t now_ms) {
    if (!from.is_sent) return true;  // anything is better
    if (now_ms - changed_ms_ < wait_ms_ || pace_) return false;
    if (!is_lowered_ || !active_ || !video().has_rtx() || !video().begun()) return true;
    if (!probe_) {
        probe_ = std::make_unique<Probe>(*this, to, to.kbps - std::min(to.kbps, from.kbps), now_ms);
        probe_->set_after(kProbeEveryMs);
    }
    const LayerProbe::Result result = probe_result(now_ms);
    if (result == LayerProbe::Result::kNextPulse) {
        probe_->probe.begin_next_pulse(now_ms);
        probe_->set_after(kProbeEveryMs);
    }
    return result == LayerProbe::Result::kPassed;
}

LayerProbe::Result PlayerLayers::probe_result(int64_t now_ms) const {
    const bool answered = static_cast<int32_t>(player_.last_answered_ - probe_->report) >= 0;
    return probe_->probe.result(answered, player_.bandwidth_.has_queue(), now_ms);
}

// What is measured in the next seconds is of the probe: the link took what it took before.
void PlayerLayers::fail_probe(int64_t now_ms) {
    probe_.reset();
    wait_ms_ = std::min(wait_ms_ / 2 * 3, kMaxWaitMs);
    changed_ms_ = now_ms;
    if (target_) player_.bandwidth_.keep(need_of(*target_) / 2 * 3, kProbeRestMs, now_ms);
}

// Of the newest packets, again and again.
void PlayerLayers::send_probe() {
    const int64_t now_ms = runtime::now_ms();
    LayerProbe& probe = probe_->probe;
    const size_t due = probe.due(now_ms);
    const live::RtpRing& ring = active_->lane.ring();
    SendTrack& track = video();
    size_t sent = 0;
    uint64_t at = active_->cursor.position();
    for (int left = Player::kPacketsPerPass; sent < due && left > 0 && at > ring.begin(); --left) {
        const live::RtpPacket& packet = ring.at(--at);
        const uint64_t number = track.to_viewer_sequence(packet.sequence);
        if (number == 0) break;
        const SendTrack::Retransmission again = track.retransmission(packet, number);
        uint8_t first[2];
        base::put_u16(first, static_cast<uint32_t>(number & 0xffff));
        player_.session_.send_rtp(again.header, first, packet.payload, again.index);
        sent += packet.payload.size();
    }
    probe.on_sent(sent);
    if (probe.ends_pulse(now_ms)) probe_->report = player_.send_reports();
    if (probe.is_sending()) probe_->set_after(kProbeEveryMs);
}

}  // namespace service::rtc

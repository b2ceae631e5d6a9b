// A player's RTCP: what it receives from its viewer and what it sends to it.

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "protocol/rtcp/parser.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/ntp.h"
#include "protocol/rtp/reception_stats.h"
#include "service/rtc/play/player.h"
#include "service/rtc/stats.h"

namespace service::rtc {

class Player::Feedback final : public rtcp::Visitor {
  public:
    Feedback(Player& player, int64_t now_ms) : player_(player), now_ms_(now_ms) {}

    void on_report_block(uint32_t, const rtcp::ReportBlock& block) override {
        if (const SendTrack* track = track_of(block.ssrc)) {
            worst_ = std::max<uint32_t>(worst_, block.fraction_lost);
            const int index = player_.lane_track_of(*track);
            if (index >= 0) {
                const uint32_t rate = player_.lane_.tracks()[static_cast<size_t>(index)].clock_rate;
                jitter_ms_ = std::max(jitter_ms_, rtp::jitter_ms(block.jitter, rate));
            }
            const uint64_t now = rtp::ntp_of_unix_us(base::wall_ms() * 1000);
            const auto us = rtp::round_trip_us(now, block.last_sr, block.delay_since_sr);
            if (us && block.last_sr != std::exchange(player_.last_answered_, block.last_sr)) {
                player_.round_trips_.add(*us);
                player_.bandwidth_.on_round_trip(static_cast<uint32_t>(*us / 1000), block.fraction_lost, now_ms_);
            }
            player_.losses_.on_report(block.fraction_lost, now_ms_);
        }
        player_.counters_.fraction_lost = worst_;
        player_.counters_.jitter_ms = jitter_ms_;
    }
    void on_nack(uint32_t, uint32_t media, rtcp::LostSequences sequences) override {
        SendTrack* track = track_of(media);
        if (!track) return;
        sequences.for_each([&](uint16_t sequence) {
            if (nacks_++ < kMaxNacks) player_.on_nack(*track, sequence, now_ms_);
        });
    }
    void on_pli(uint32_t, uint32_t) override { ask(); }
    void on_fir(uint32_t, uint32_t, uint8_t) override { ask(); }
    void on_remb(uint32_t, uint64_t bits_per_second, rtcp::SsrcList) override {
        player_.bandwidth_.on_remb(bits_per_second, player_.lane_.layers() != nullptr, now_ms_);
    }

  private:
    // Per datagram: the answer must not be many times as long as the request.
    static constexpr int kMaxNacks = 512;

    SendTrack* track_of(uint32_t ssrc) {
        for (SendTrack& track : player_.tracks_)
            if (track.ssrc() == ssrc) return &track;
        return nullptr;
    }
    void ask() {
        ++player_.counters_.keyframe_requests;
        ++rtc_stats().keyframe_requests_received;
        player_.video_lane().request_keyframe(now_ms_);
    }

    Player& player_;
    int64_t now_ms_;
    uint32_t worst_ = 0;
    uint32_t jitter_ms_ = 0;
    int nacks_ = 0;
};

void Player::on_rtcp(std::span<uint8_t> compound, int64_t now_us) {
    const int64_t now_ms = now_us / 1000;
    bandwidth_.on_sent(session_.counters().bytes_sent, lane_.counters().bytes, now_ms);
    Feedback feedback(*this, now_ms);
    const rtcp::Parsed parsed = rtcp::parse(compound, feedback);
    counters_.bad_rtcp += parsed.framed ? parsed.malformed : 1;
    protect_audio(now_ms);
    delay_playout(now_ms);
    if (bandwidth_.wants_round_trip(now_ms) && now_ms >= next_report_ms_ - kReportEveryMs + kProbeEveryMs) {
        reports_due_ = true;
        next_report_ms_ = now_ms + kReportEveryMs;
    }
    if (!joined_ || video_ < 0) return;
    if (layers_ && layers_->is_probing()) choose_layer(now_ms);
    if (!bandwidth_.is_short()) return;
    choose_layer(now_ms);
    if (!paced_ && !has_layer()) begin_pacing(now_us);
    if (const uint32_t queue_ms = bandwidth_.take_queue_ms(); queue_ms > 0 && paced_)
        paced_->link.pause(bandwidth_.kbps(), queue_ms);
}

void Player::protect_audio(int64_t now_ms) {
    for (SendTrack& track : tracks_)
        if (track.kind() == media::Kind::kAudio)
            track.set_red(!bandwidth_.is_short() && losses_.within(kRedundantMs, now_ms));
}

void Player::delay_playout(int64_t now_ms) {
    if (video_ < 0) return;
    SendTrack& video = tracks_[static_cast<size_t>(video_)];
    if (!video.takes_playout_delay()) return;
    const bool is_lossy = losses_.within(kDelayedMs, now_ms) || video_losses_.within(kDelayedMs, now_ms);
    const uint32_t round_trip_ms = bandwidth_.round_trip_ms(round_trips_.mean_ms());
    if (playout_delay_.on_report({is_lossy, round_trip_ms, counters_.jitter_ms}, now_ms))
        video.set_playout_delay(playout_delay_.ms());
}

net::SessionFigures Player::figures() const {
    net::SessionFigures figures;
    if (connected_us_ > 0) figures.frames = stream_->frames() - frames_before_;
    figures.skips = counters_.jumps;
    figures.first_frame_ms = first_ms_;
    figures.lost = counters_.nacks;
    figures.retransmitted = counters_.retransmitted;
    return figures;
}

net::RtcQuality Player::quality() const {
    net::RtcQuality out;
    out.lost_percent = counters_.fraction_lost * 100.0 / 256;
    if (round_trips_.known()) out.rtt_ms = static_cast<int>(round_trips_.mean_ms());
    out.jitter_ms = static_cast<int>(counters_.jitter_ms);
    out.nacks = counters_.nacks;
    out.retransmitted = counters_.retransmitted;
    out.keyframes_asked = counters_.keyframe_requests;
    out.remb_kbps = bandwidth_.remb_kbps();
    net::RtcViewing& viewing = out.viewing.emplace();
    viewing.sent = sent();
    if (has_layer()) viewing.layer = layers_->rid();
    if (bandwidth_.is_short()) viewing.estimate_kbps = bandwidth_.kbps();
    viewing.playout_delay_ms = playout_delay_.ms();
    for (size_t i = 0; history_ && i < history_->size(); ++i) {
        const LinkHistory::Entry& one = history_->at(i);
        viewing.history.push_back({one.sent, one.estimate_kbps, one.lost * 100.0 / 256, one.rtt_ms});
    }
    return out;
}

net::RtcSent Player::sent() const {
    if (has_layer()) return net::RtcSent::kLayer;
    if (!paced_) return net::RtcSent::kAll;
    return paced_->link.audio_alone() ? net::RtcSent::kAudio : net::RtcSent::kHeads;
}

void Player::note_link(int64_t now_ms) {
    const net::RtcSent now = sent();
    if (!history_) {
        if (now == net::RtcSent::kAll && counters_.fraction_lost < LinkHistory::kLoss) return;
        history_ = std::make_unique<LinkHistory>(now_ms);
    }
    const uint32_t rtt_ms = round_trips_.known() ? round_trips_.mean_ms() : 0;
    history_->see(now, bandwidth_.is_short() ? bandwidth_.kbps() : 0, rtt_ms, counters_.fraction_lost, now_ms);
    if (history_->is_good()) history_.reset();
}

// Reports leave with packets, in one message to the kernel.
void Player::on_tick(int64_t now_ms) {
    if (reports_due_) send_due_reports();
    if (layers_) choose_layer(now_ms);
    note_link(now_ms);
    uint32_t version = has_layer() ? layers_->lane()->clock(0).version : 0;
    for (size_t i = 0; i < lane_.tracks().size(); ++i) version += lane_.clock(i).version;
    // At once if the clock is known better than before: until then audio and video are not synchronized.
    if (now_ms < next_report_ms_ && version == clock_version_) return;
    clock_version_ = version;
    next_report_ms_ = now_ms + (++reports_ < kFirstReports ? kFirstReportsEveryMs : kReportEveryMs);
    reports_due_ = true;
}

void Player::send_due_reports() {
    reports_due_ = false;
    (void)send_reports();
}

// One compound packet per track: some clients take any sender report of a compound packet for that of their track.
// Returns how their answers name them (RFC 3550, 6.4.1: LSR).
uint32_t Player::send_reports() {
    const int64_t wall_us = base::wall_ms() * 1000;
    const uint64_t ntp = rtp::ntp_of_unix_us(wall_us);
    for (const SendTrack& track : tracks_) {
        const Reading reading = reading_of(track);
        if (reading.track < 0 || track.packets() == 0) continue;
        const live::RtpClock& clock = reading.lane.clock(static_cast<size_t>(reading.track));
        if (!clock.known) continue;
        uint8_t out[128];
        rtcp::Writer writer(out);
        const rtcp::SenderReport report{
            .ssrc = track.ssrc(),
            .ntp = ntp,
            .rtp_timestamp = static_cast<uint32_t>(clock.at(wall_us)) + track.timestamp_add(),
            .packets = track.packets(),
            .octets = track.octets()};
        if (writer.sender_report(report) && writer.cname(track.ssrc(), session_.as_session().id()))
            session_.send_rtcp(writer.written());
    }
    return rtp::compact_ntp(ntp);
}

void Player::send_bye() {
    uint8_t out[256];
    rtcp::Writer writer(out);
    uint32_t ssrcs[kMaxTracks];
    size_t count = 0;
    for (const SendTrack& track : tracks_)
        if (track.packets() > 0) ssrcs[count++] = track.ssrc();
    if (count == 0 || !session_.connected()) return;
    if (writer.receiver_report(ssrcs[0]) && writer.bye(std::span(ssrcs, count))) session_.send_rtcp(writer.written());
}

}  // namespace service::rtc

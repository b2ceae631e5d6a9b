// A publisher's RTCP: the reports and requests sent to the client, and the sender reports received from it.

#include <algorithm>

#include "protocol/rtcp/parser.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/ntp.h"
#include "service/rtc/publish/publisher.h"
#include "service/rtc/stats.h"
#include "service/session_figures.h"

namespace service::rtc {

namespace {
constexpr size_t kMaxRtcpBytes = 1200;
}

class Publisher::Feedback final : public rtcp::Visitor {
  public:
    Feedback(Publisher& publisher, int64_t now_us) : publisher_(publisher), now_us_(now_us) {}
    void on_sender_report(const rtcp::SenderReport& report) override {
        for (size_t i = 0; i < publisher_.tracks_.size(); ++i) {
            const ReceiveTrack& track = publisher_.tracks_[i];
            if (report.ssrc != 0 && report.ssrc == track.ssrc())
                publisher_.on_sender_report(i, report.ntp, report.rtp_timestamp, now_us_);
        }
    }

    // Called only for packets authenticated by SRTP: no other host can send a BYE for it.
    void on_bye(uint32_t ssrc) override {
        for (size_t i = 0; i < publisher_.tracks_.size(); ++i) {
            if (ssrc == 0 || ssrc != publisher_.tracks_[i].ssrc()) continue;
            publisher_.tracks_[i].on_bye();
            if (publisher_.is_layer(i)) publisher_.layers_->on_bye(i);
        }
    }

  private:
    Publisher& publisher_;
    int64_t now_us_;
};

void Publisher::on_rtcp(std::span<uint8_t> compound, int64_t now_us) {
    if (!joined()) return;
    Feedback feedback(*this, now_us);
    const rtcp::Parsed parsed = rtcp::parse(compound, feedback);
    counters_.bad_rtcp += parsed.framed ? parsed.malformed : 1;
}

void Publisher::on_sender_report(size_t index, uint64_t ntp, uint32_t timestamp, int64_t now_us) {
    const int64_t ntp_us = ntp_us_of(ntp);
    tracks_[index].on_sender_report(ntp, ntp_us, timestamp, now_us);
    if (ntp == 0) return;
    if (live::RtpLayer* layer = read_layer(index)) layer->lane->set_clock(0, ntp_us, timestamp);
    if (!waits_ && is_carried(index)) lane_.set_clock(lane_index(index), ntp_us, timestamp);
    if (!layer_streams_) return;
    if (is_layer(index))
        layer_streams_->on_sender_report(index, {ntp_us, timestamp});
    else
        layer_streams_->on_audio_report(lane_index(index), {ntp_us, timestamp});
}

void Publisher::ask_for_missing(int64_t now_ms) {
    for (ReceiveTrack& track : tracks_) {
        if (!track.format().nack || track.ssrc() == 0) continue;
        // Some senders answer for one of their layers only.
        if (!track.format().rid.empty() && track.nacks().is_ignored(now_ms)) track.nacks().give_up();
        uint16_t sequences[kMaxNacksAtOnce];
        const auto due = track.nacks().due(now_ms, 0, sequences);
        if (due.empty()) continue;
        uint8_t out[kMaxRtcpBytes];
        rtcp::Writer writer(out);
        (void)writer.receiver_report(own_ssrc_);
        if (writer.nack(own_ssrc_, track.ssrc(), due) == 0) continue;
        counters_.nacks_sent += static_cast<uint32_t>(due.size());
        rtc_stats().nacks_sent += due.size();
        session_.send_rtcp(writer.written());
    }
}

void Publisher::send_pli(const ReceiveTrack& track) {
    if (track.ssrc() == 0 || !session_.connected()) return;
    uint8_t out[64];
    rtcp::Writer writer(out);
    (void)writer.receiver_report(own_ssrc_);
    const bool written = track.format().pli || !track.format().fir
                             ? writer.pli(own_ssrc_, track.ssrc())
                             : writer.fir(own_ssrc_, track.ssrc(), fir_sequence_++);
    if (!written) return;
    ++counters_.plis_sent;
    ++rtc_stats().keyframe_requests_sent;
    session_.send_rtcp(writer.written());
}

void Publisher::send_twcc(int64_t now_ms) {
    next_twcc_ms_ = now_ms + kTwccEveryMs;
    if (!twcc_) return;
    const auto about = std::ranges::find_if(tracks_, [](const ReceiveTrack& track) { return track.ssrc() != 0; });
    while (about != tracks_.end() && twcc_->has_news()) {
        uint8_t out[kMaxRtcpBytes];
        rtcp::Writer writer(out);
        if (!twcc_->write(own_ssrc_, about->ssrc(), writer)) return;
        ++counters_.twcc_sent;
        session_.send_rtcp(writer.written());
    }
}

// For clients that adapt to REMB: no limit, and less while the loss is high (as GCC's loss-based part does).
uint64_t Publisher::rate_to_offer(int64_t now_ms) {
    constexpr uint64_t kMinRate = 300'000, kMaxRate = 20'000'000;  // bit/s
    const uint64_t bytes = counters_.bytes;
    const int64_t ms = now_ms - rated_ms_;
    const uint64_t rate =
        rated_ms_ == 0 || ms <= 0 ? kMaxRate : (bytes - rated_bytes_) * 8000 / static_cast<uint64_t>(ms);
    rated_ms_ = now_ms;
    rated_bytes_ = bytes;
    constexpr uint8_t kHighLoss = 26;  // of 256: a tenth
    if (worst_loss_ <= kHighLoss) return kMaxRate;
    return std::clamp(rate - rate * worst_loss_ / 512, kMinRate, kMaxRate);
}

net::SessionFigures Publisher::figures() const {
    net::SessionFigures figures = figures_of(limits_, nullptr, nullptr);
    if (stream_) figures.frames = stream_->frames() - std::min(frames_before_, stream_->frames());
    for (const ReceiveTrack& track : tracks_) {
        figures.lost += track.nacks().counters().lost;
        figures.dropped += track.nacks().counters().given_up;
    }
    figures.retransmitted = counters_.by_rtx;
    return figures;
}

net::RtcQuality Publisher::quality() const {
    net::RtcQuality out;
    out.lost_percent = worst_loss_ * 100.0 / 256;
    out.jitter_ms = static_cast<int>(worst_jitter_ms_);
    out.nacks = counters_.nacks_sent;
    out.retransmitted = counters_.by_rtx;
    out.keyframes_asked = counters_.plis_sent;
    return out;
}

void Publisher::report_losses() {
    rtp::NackTracker::Counters now;
    for (ReceiveTrack& track : tracks_) {
        now.lost += track.nacks().counters().lost;
        now.given_up += track.nacks().counters().given_up;
    }
    RtcStats& all = rtc_stats();
    all.lost += now.lost - reported_.lost;
    all.given_up += now.given_up - reported_.given_up;
    all.received_by_rtx += counters_.by_rtx - reported_by_rtx_;
    reported_ = now;
    reported_by_rtx_ = counters_.by_rtx;
}

void Publisher::send_reports(int64_t now_ms) {
    next_report_ms_ = now_ms + kReportEveryMs;
    report_losses();
    rtcp::ReportBlock blocks[live::RtpRing::kMaxTracks];
    uint32_t ssrcs[live::RtpRing::kMaxTracks];
    size_t count = 0;
    worst_loss_ = 0;
    worst_jitter_ms_ = 0;
    for (ReceiveTrack& track : tracks_) {
        auto block = track.report(now_ms * 1000);
        if (!block) continue;
        worst_loss_ = std::max(worst_loss_, block->fraction_lost);
        worst_jitter_ms_ = std::max(worst_jitter_ms_, rtp::jitter_ms(block->jitter, track.format().track.clock_rate));
        ssrcs[count] = track.ssrc();
        blocks[count++] = *block;
    }
    uint8_t out[kMaxRtcpBytes];
    rtcp::Writer writer(out);
    if (!writer.receiver_report(own_ssrc_, std::span(blocks, count))) return;
    (void)writer.cname(own_ssrc_, session_.as_session().id());
    if (wants_remb_ && count > 0) (void)writer.remb(own_ssrc_, rate_to_offer(now_ms), std::span(ssrcs, count));
    ++counters_.reports_sent;
    session_.send_rtcp(writer.written());
}

}  // namespace service::rtc

#include "load/rtc/player.h"

#include "protocol/rtcp/parser.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/packet.h"

namespace load::rtc {

namespace {

constexpr uint32_t kOurSsrc = 1;

// Tells the tracks of the sender's reports, which receivers send back to it.
class SenderReports final : public rtcp::Visitor {
  public:
    SenderReports(int64_t now_us, auto& audio, auto& video)
        : take_([=, &audio, &video](const rtcp::SenderReport& report) {
              for (auto* track : {&audio, &video}) {
                  if (*track && (*track)->ssrc == report.ssrc) (*track)->stats.on_sender_report(report.ntp, now_us);
              }
          }) {}
    void on_sender_report(const rtcp::SenderReport& report) override { take_(report); }

  private:
    std::function<void(const rtcp::SenderReport&)> take_;
};

}  // namespace

PacketCounts Player::counts() const {
    PacketCounts all;
    for (const auto* track : {&audio_, &video_}) {
        if (!*track) continue;
        all.lost += (*track)->stats.lost();
        all.asked += (*track)->nack.counters().asked;
        all.recovered += (*track)->nack.counters().recovered;
    }
    return all;
}

void Player::on_packet(std::span<const uint8_t> datagram, int64_t now_us) {
    meter_.on_packet(datagram.size(), now_us, begun_us());
}

void Player::on_rtp(std::span<uint8_t> bytes, int64_t now_us) {
    auto packet = rtp::PacketView::parse(bytes);
    if (!packet) return;
    if (packet->payload_type() == answer().rtx_payload) {
        if (video_ && packet->payload().size() >= 2)
            video_->nack.on_packet(rtp::get_u16(packet->payload().data()), now_us / 1000);
        return;
    }
    const bool is_video = packet->payload_type() == answer().video_payload;
    if (!is_video && packet->payload_type() != answer().audio_payload) return;
    auto& track = is_video ? video_ : audio_;
    if (!track || track->ssrc != packet->ssrc()) {
        track.emplace(
            Track{packet->ssrc(), rtp::ReceptionStats(packet->ssrc(), is_video ? 90'000 : 48'000), rtp::NackTracker()});
    }
    track->stats.on_packet(packet->sequence(), packet->timestamp(), now_us);
    if (nack_ && is_video) track->nack.on_packet(packet->sequence(), now_us / 1000);
}

void Player::on_rtcp(std::span<const uint8_t> compound, int64_t now_us) {
    SenderReports visitor(now_us, audio_, video_);
    rtcp::parse(compound, visitor);
}

void Player::on_tick(int64_t now_us) {
    if (nack_ && video_) ask(*video_, now_us / 1000);
    if (now_us >= next_report_us_) {
        if (next_report_us_) report(now_us);
        next_report_us_ = now_us + kReportUs;
    }
}

void Player::ask(Track& track, int64_t now_ms) {
    std::array<uint16_t, 64> room;
    auto missing = track.nack.due(now_ms, 0, room);
    if (missing.empty()) return;
    std::array<uint8_t, 400> out;
    rtcp::Writer writer(out);
    writer.nack(kOurSsrc, track.ssrc, missing);
    send_rtcp(writer.written());
}

void Player::report(int64_t now_us) {
    std::array<rtp::ReportBlock, 2> blocks;
    size_t count = 0;
    for (auto* track : {&audio_, &video_}) {
        if (!*track) continue;
        if (auto block = (*track)->stats.report(now_us)) blocks[count++] = *block;
    }
    std::array<uint8_t, 200> out;
    rtcp::Writer writer(out);
    writer.receiver_report(kOurSsrc, std::span(blocks).first(count));
    writer.cname(kOurSsrc, "load");
    send_rtcp(writer.written());
}

}  // namespace load::rtc

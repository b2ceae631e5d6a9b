#include "load/rtc/publisher.h"

#include <sys/time.h>

#include "protocol/rtcp/parser.h"
#include "protocol/rtcp/writer.h"
#include "protocol/rtp/extensions.h"
#include "protocol/rtp/ntp.h"
#include "protocol/rtp/packet.h"

namespace load::rtc {

namespace {

class Listener final : public rtcp::Visitor {
  public:
    explicit Listener(Publisher::Heard& heard) : heard_(heard) {}
    void on_report_block(uint32_t, const rtcp::ReportBlock&) override { ++heard_.reports; }
    void on_nack(uint32_t, uint32_t, rtcp::LostSequences lost) override {
        lost.for_each([this](uint16_t) { ++heard_.nacks; });
    }
    void on_pli(uint32_t, uint32_t) override { ++heard_.keyframe_requests; }
    void on_fir(uint32_t, uint32_t, uint8_t) override { ++heard_.keyframe_requests; }
    void on_transport_feedback(uint32_t, uint32_t, std::span<const uint8_t>) override { ++heard_.transport_feedback; }

  private:
    Publisher::Heard& heard_;
};

uint64_t ntp_now() {
    timeval now;
    gettimeofday(&now, nullptr);
    return rtp::ntp_of_unix_us(int64_t{now.tv_sec} * 1'000'000 + now.tv_usec);
}

}  // namespace

uint32_t Publisher::timestamp(bool video, int64_t since_begin_us) const {
    return static_cast<uint32_t>(since_begin_us * (video ? 90 : 48) / 1000);
}

void Publisher::send_due(int64_t now_us) {
    if (!is_open()) return;
    if (!start_us_) start_us_ = now_us;
    while (true) {
        const auto& packet = packets_.list()[next_];
        int64_t since_begin_us = round_ * packets_.round_us() + packet.at_us;
        if (start_us_ + since_begin_us > now_us) return;
        ledger().lateness_us.add(now_us - start_us_ - since_begin_us);
        send_one(packet, since_begin_us);
        if (++next_ == packets_.list().size()) {
            next_ = 0;
            ++round_;
        }
    }
}

void Publisher::send_one(const Packets::Packet& packet, int64_t since_begin_us) {
    auto type = payload_type(packet.video);
    if (!type) return;
    auto& track = packet.video ? video_ : audio_;
    std::array<uint8_t, 2> sequence;
    base::put_u16(sequence.data(), transport_sequence_++);
    const rtp::Extension extension{kTransportCcId, sequence};
    std::array<uint8_t, rtp::kFixedHeaderSize + 8> room;
    size_t size = rtp::write_header(room.data(),
                                    {.marker = packet.marker,
                                     .payload_type = *type,
                                     .sequence = static_cast<uint16_t>(track.index),
                                     .timestamp = timestamp(packet.video, since_begin_us),
                                     .ssrc = packet.video ? video_ssrc() : audio_ssrc()},
                                    std::span(&extension, answer().transport_cc ? 1 : 0));
    auto header = std::span(room).first(size);
    if (send_rtp(header, packet.payload, track.index)) {
        ++track.sent;
        track.octets += static_cast<uint32_t>(packet.payload.size());
    }
    ++track.index;
}

void Publisher::on_rtcp(std::span<const uint8_t> compound, int64_t) {
    Listener listener(heard_);
    rtcp::parse(compound, listener);
}

void Publisher::on_tick(int64_t now_us) {
    if (!start_us_ || now_us < next_report_us_) return;
    next_report_us_ = now_us + kReportUs;
    for (bool video : {false, true}) {
        const auto& track = video ? video_ : audio_;
        uint32_t ssrc = video ? video_ssrc() : audio_ssrc();
        std::array<uint8_t, 120> out;
        rtcp::Writer writer(out);
        writer.sender_report({.ssrc = ssrc,
                              .ntp = ntp_now(),
                              .rtp_timestamp = timestamp(video, now_us - start_us_),
                              .packets = track.sent,
                              .octets = track.octets});
        writer.cname(ssrc, "load");
        send_rtcp(writer.written());
    }
}

}  // namespace load::rtc

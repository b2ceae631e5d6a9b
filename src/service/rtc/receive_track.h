#pragma once
// ReceiveTrack: one track of a WebRTC publisher as it comes: which packets are its own, what is missing, what to
// report. It sends nothing and keeps no packet. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "protocol/rtp/nack_tracker.h"
#include "protocol/rtp/packet.h"
#include "protocol/rtp/reception_stats.h"
#include "service/rtc/send_track.h"

namespace service::rtc {

// What was negotiated for a track with a publisher.
struct ReceiveFormat {
    live::RtpTrack track;  // its ssrc: 0 where the offer names none
    uint8_t rtx_payload_type = kNoPayloadType;
    uint32_t rtx_ssrc = 0;  // 0: not known yet
    bool nack = false;
    bool pli = false;
    bool fir = false;
    bool transport_cc = false;
    bool remb = false;
    std::string mid{};
};

class ReceiveTrack {
  public:
    explicit ReceiveTrack(const ReceiveFormat& format);

    const ReceiveFormat& format() const { return format_; }
    media::Kind kind() const { return format_.track.kind; }
    uint32_t ssrc() const { return format_.track.ssrc; }
    bool is_rtx(uint8_t payload_type) const {
        return format_.rtx_payload_type != kNoPayloadType && payload_type == format_.rtx_payload_type;
    }
    bool has_payload_type(uint8_t payload_type) const {
        return payload_type == format_.track.payload_type || is_rtx(payload_type);
    }
    // An SSRC is learned from the first packet that says by payload type or mid whose it is.
    void learn(uint32_t ssrc, bool rtx);
    bool owns(uint32_t ssrc) const { return ssrc != 0 && (ssrc == format_.track.ssrc || ssrc == format_.rtx_ssrc); }

    // A packet of the track, by RTX or not, with its own sequence.
    void on_packet(const rtp::PacketView& packet, bool by_rtx, int64_t now_us);
    void on_sender_report(uint64_t ntp, int64_t now_us) {
        if (stats_) stats_->on_sender_report(ntp, now_us);
    }
    std::optional<rtp::ReportBlock> report(int64_t now_us) { return stats_ ? stats_->report(now_us) : std::nullopt; }
    rtp::NackTracker& nacks() { return nacks_; }
    // Something was given up: pictures cannot be decoded before the next keyframe.
    bool take_damage() { return kind() == media::Kind::kVideo && nacks_.take_damage(); }

    uint64_t packets() const { return packets_; }
    uint64_t by_rtx() const { return by_rtx_; }

  private:
    ReceiveFormat format_;
    std::optional<rtp::ReceptionStats> stats_;  // from its first packet on
    rtp::NackTracker nacks_;
    uint64_t packets_ = 0, by_rtx_ = 0;
};

}  // namespace service::rtc

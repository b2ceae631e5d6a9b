#pragma once
// ReceiveTrack: one received track of a WebRTC publisher, or one layer of its simulcast: which packets belong to it,
// which are missing, what to report. Its SSRC may change during the session (RFC 3550, 8.2); loss tracking and
// statistics then start again. It sends nothing and stores no packets. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "protocol/rtp/nack_tracker.h"
#include "protocol/rtp/packet.h"
#include "protocol/rtp/reception_stats.h"
#include "service/rtc/play/send_track.h"

namespace service::rtc {

// The negotiated parameters of a publisher's track.
struct ReceiveFormat {
    live::RtpTrack track;  // its ssrc is 0 if the offer names none
    uint8_t rtx_payload_type = kNoPayloadType;
    uint32_t rtx_ssrc = 0;  // 0: not known yet
    bool nack = false;
    bool pli = false;
    bool fir = false;
    bool transport_cc = false;
    bool remb = false;
    std::string mid{};
    std::string rid{};  // of a layer of simulcast, which its packets name; empty: no layer
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
    // Sets an SSRC learned from the first packet that identifies the track by payload type or mid.
    void learn(uint32_t ssrc, bool rtx);
    // Called at the connection: from now on the SSRC of the offer is expected to send.
    void begin(int64_t now_ms) { heard_ms_ = now_ms; }
    void on_bye() { has_bye_ = true; }
    // Its SSRC has sent nothing for silent_ms, or has sent BYE and has been in use for silent_ms.
    bool is_silent(int64_t now_ms, int64_t silent_ms) const {
        return now_ms - (has_bye_ ? followed_ms_ : heard_ms_) >= silent_ms;
    }
    // Switches to that SSRC; the RTX SSRC that belongs to it has to be learned again.
    void follow(uint32_t ssrc, int64_t now_ms);
    // Whether the packet's SSRC may be learned as this track's RTX SSRC. After an SSRC change it may be the RTX SSRC of
    // the old one, so then only a retransmission that was requested counts (RFC 4588, 5.3).
    bool may_learn_rtx(const rtp::PacketView& packet) const;
    // Whether it is a retransmission (RFC 4588) that was requested of this track.
    bool answers(const rtp::PacketView& rtx) const;
    bool owns(uint32_t ssrc) const { return ssrc != 0 && (ssrc == format_.track.ssrc || ssrc == format_.rtx_ssrc); }

    // A packet of the track with its original sequence number, received directly or by RTX.
    void on_packet(const rtp::PacketView& packet, bool by_rtx, int64_t now_us);
    // ntp: as sent. ntp_us: the same in microseconds, on a clock of all tracks.
    void on_sender_report(uint64_t ntp, int64_t ntp_us, uint32_t timestamp, int64_t now_us);
    struct Report {
        int64_t ntp_us;
        uint32_t timestamp;
    };
    // The newest one; nothing: none of a sender with a clock.
    const std::optional<Report>& sender_report() const { return report_; }
    // The moment of one of its timestamps on that clock; nothing before the first report.
    std::optional<int64_t> moment_us(uint32_t timestamp) const;
    std::optional<rtp::ReportBlock> report(int64_t now_us) { return stats_ ? stats_->report(now_us) : std::nullopt; }
    rtp::NackTracker& nacks() { return nacks_; }
    const rtp::NackTracker& nacks() const { return nacks_; }
    // True: a missing packet was given up, so video cannot be decoded until the next keyframe.
    bool take_damage() { return nacks_.take_damage() && kind() == media::Kind::kVideo; }

    uint64_t packets() const { return packets_; }
    uint64_t by_rtx() const { return by_rtx_; }

  private:
    ReceiveFormat format_;
    uint64_t packets_ = 0, by_rtx_ = 0;
    int64_t heard_ms_ = 0;  // last packet of its own SSRC
    rtp::NackTracker nacks_;
    std::optional<rtp::ReceptionStats> stats_;  // from its first packet on
    std::optional<Report> report_;
    int64_t followed_ms_ = INT64_MIN / 2;  // when the track switched to its SSRC; the default: never switched
    bool has_bye_ = false;
};

}  // namespace service::rtc

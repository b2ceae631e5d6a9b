#pragma once
// SendTrack: how one viewer sees one track of a lane: SSRC, payload type, header extensions, and sequence numbers of
// its own. Numbers are an offset to the lane's: there is no store of packets or numbers per viewer. Where the viewer
// goes on at a later keyframe the offset changes, so that it sees no hole; the offset before is kept for what it still
// asks to be sent again. It sends nothing. Pure.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "live/rtp/rtp_ring.h"
#include "protocol/rtp/packet.h"

namespace service::rtc {

inline constexpr uint8_t kNoPayloadType = 0xff;

// What was negotiated for a track with a viewer.
struct SendFormat {
    media::Kind kind = media::Kind::kVideo;
    media::Codec codec = media::Codec::kNone;
    uint32_t ssrc = 0;
    uint32_t rtx_ssrc = 0;
    uint8_t payload_type = 0;
    uint8_t rtx_payload_type = kNoPayloadType;
    uint8_t twcc_id = 0;  // of the header extension; 0: not negotiated
    uint8_t mid_id = 0;
    bool nack = false;
    std::string mid{};

    bool has_rtx() const { return rtx_payload_type != kNoPayloadType; }
};

class SendTrack {
  public:
    // first_sequence: random, below 2^15 (RFC 3711, 3.3.1).
    SendTrack(const SendFormat& format, uint16_t first_sequence);

    media::Kind kind() const { return kind_; }
    media::Codec codec() const { return codec_; }
    uint32_t ssrc() const { return ssrc_; }
    uint32_t rtx_ssrc() const { return rtx_ssrc_; }
    bool has_rtx() const { return rtx_payload_type_ != kNoPayloadType; }
    bool answers_nack() const { return nack_; }

    // The lane's packets of this sequence and later ones are the viewer's from now on, that one being its next.
    void begin_at(uint64_t lane_sequence);
    // None is, until begin_at().
    void stop() { begun_ = false; }
    bool begun() const { return begun_; }

    // The number that the viewer sees; nothing: the packet is not for it.
    std::optional<uint64_t> to_viewer_sequence(uint64_t lane_sequence) const {
        if (!begun_ || lane_sequence < now_.first_lane) return std::nullopt;
        return now_.first_viewer + (lane_sequence - now_.first_lane);
    }
    // The way back, for what a NACK names; nothing: it was never sent, or so long ago that nobody knows.
    std::optional<uint64_t> to_ring_sequence(uint16_t viewer_sequence) const;

    // A header as this viewer is to see it, valid until the next call, and the packet's index for SRTP.
    struct Header {
        std::span<const uint8_t> bytes;
        uint64_t index;
    };
    // As it is sent first. twcc: the session's next number, taken where
    // the extension is used. Counts the packet.
    Header header(const live::RtpPacket& packet, uint64_t viewer_sequence, uint16_t& twcc);
    // Of a packet that is sent again: of RTX where that was negotiated (its payload begins with the first number), else
    // the same to the bit.
    Header retransmission_header(const live::RtpPacket& packet, uint64_t viewer_sequence, uint16_t& twcc);

    // For sender reports; without what was sent again.
    uint32_t packets() const { return packets_; }
    uint32_t octets() const { return octets_; }
    uint64_t highest() const { return highest_; }

  private:
    struct Segment {
        uint64_t first_lane = 0;
        uint64_t first_viewer = 0;
    };
    // Packets that carry the mid: who demultiplexes by it has learned the SSRC by then (RFC 9143, 15.2 lets it end).
    static constexpr uint32_t kMidPackets = 32;

    // Header extensions that may change from one sending to the next: only where nothing is sent again as it was.
    bool extensions_may_change() const { return has_rtx() || !nack_; }
    void start_header(const live::RtpPacket& packet, uint8_t payload_type, uint32_t ssrc, uint16_t sequence);
    size_t fill(uint16_t& twcc);  // the extensions; returns the header's size
    size_t fill_mid();
    void write_form();

    std::array<uint8_t, 40> header_{};
    uint8_t header_size_ = 12;  // without mid
    uint8_t twcc_id_ = 0, mid_id_ = 0, mid_size_ = 0;
    std::array<char, 15> mid_{};  // a longer one is not sent
    media::Kind kind_;
    media::Codec codec_;
    uint8_t payload_type_, rtx_payload_type_;
    bool nack_;
    bool begun_ = false;
    uint32_t ssrc_, rtx_ssrc_;
    Segment now_, before_;
    uint64_t highest_;       // the viewer's number of the newest
    uint64_t rtx_sequence_;  // of the next
    uint32_t packets_ = 0, octets_ = 0;
};

}  // namespace service::rtc

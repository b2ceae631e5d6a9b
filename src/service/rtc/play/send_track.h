#pragma once
// SendTrack: how one viewer sees one track of a lane: SSRC, payload type, header extensions, and its own sequence
// numbers. The viewer's numbers are the lane's numbers plus an offset; no packets or numbers are stored per viewer.
// When the viewer skips to a later keyframe the offset changes, so that the viewer sees no gap; the previous offset is
// kept to answer NACKs for older packets. A number is never given to two packets: after a skip the viewer's numbers
// begin above all that it has been sent, and packets before the skip are not sent to it any more. It sends nothing.
// Pure.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "live/rtp/rtp_ring.h"
#include "protocol/rtp/extensions.h"
#include "protocol/rtp/packet.h"

namespace service::rtc {

inline constexpr uint8_t kNoPayloadType = 0xff;

// The negotiated parameters of a viewer's track.
struct SendFormat {
    media::Kind kind = media::Kind::kVideo;
    media::Codec codec = media::Codec::kNone;
    uint32_t ssrc = 0;
    uint32_t rtx_ssrc = 0;
    uint8_t payload_type = 0;
    uint8_t rtx_payload_type = kNoPayloadType;
    uint8_t red_payload_type = kNoPayloadType;  // audio: redundant payloads, of payload_type
    uint8_t mid_id = 0;                         // header extension id; 0: not negotiated
    uint8_t playout_delay_id = 0;               // likewise
    uint8_t send_time_id = 0;
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

    // The viewer gets the lane's packets from this sequence number on; that packet takes the viewer's next number.
    void begin_at(uint64_t ring_sequence);
    // No packets are sent until begin_at().
    void stop() { begun_ = false; }
    // The same, and the lane's numbers mean other packets from now on: no packet sent so far is sent again.
    void restart() {
        stop();
        now_ = before_ = {};
    }
    bool begun() const { return begun_; }
    // Added to the lane's timestamps, from the next packet on: where the viewer's video comes from another lane than
    // before.
    void set_timestamp_add(uint32_t add) { timestamp_add_ = add; }
    uint32_t timestamp_add() const { return timestamp_add_; }

    // The sequence number that the viewer sees; 0: the packet is not sent to it.
    uint64_t to_viewer_sequence(uint64_t ring_sequence) const {
        if (!begun_ || ring_sequence < now_.first_ring) return 0;
        return now_.first_viewer + (ring_sequence - now_.first_ring);
    }
    // The reverse mapping, for the number in a NACK; nothing: it was never sent, or too long ago to be known.
    std::optional<uint64_t> to_ring_sequence(uint16_t viewer_sequence) const;

    // The header for the first transmission as this viewer must see it, valid until the next call. The packet's SRTP
    // index is viewer_sequence. Counts the packet.
    std::span<const uint8_t> header(const live::RtpPacket& packet, uint64_t viewer_sequence);
    // The header for a retransmission, and its SRTP index: an RTX header if RTX was negotiated (its payload begins with
    // the original sequence number), otherwise identical to the first transmission.
    struct Retransmission {
        std::span<const uint8_t> header;
        uint64_t index;
    };
    Retransmission retransmission(const live::RtpPacket& packet, uint64_t viewer_sequence);

    // Whether the viewer can be asked to hold frames back: once the first packets have told the mid.
    bool takes_playout_delay() const { return playout_delay_id_ != 0 && packets_ >= kExtendedPackets; }
    // It is asked to do so for that long at least.
    void set_playout_delay(uint16_t ms);

    // The next packets tell when they are sent, or do not any more. Before each that does: stamp().
    void set_send_times(bool on);
    void stamp(int64_t now_us) {
        if (has_send_times_) rtp::write_send_time(now_us, std::span<uint8_t, rtp::kSendTimeBytes>(&header_[17], 3));
    }

    // Whether the next packets have redundant payloads, where the viewer takes them. A packet that may be sent again
    // has none: it would have to be the same.
    void set_red(bool on) {
        if (red_payload_type_ != kNoPayloadType && !nack_) payload_type_ = on ? red_payload_type_ : plain_payload_type_;
    }
    bool sends_red() const { return payload_type_ == red_payload_type_; }
    uint8_t plain_payload_type() const { return plain_payload_type_; }

    // For sender reports; retransmissions are not counted.
    uint32_t packets() const { return packets_; }
    uint32_t octets() const { return octets_; }
    uint64_t highest() const { return highest_; }

  private:
    struct Segment {
        uint64_t first_ring = 0;
        uint64_t first_viewer = 0;  // the lowest number that is sent; 0: there is no such segment

        bool has(uint64_t viewer_sequence) const { return first_viewer != 0 && viewer_sequence >= first_viewer; }
        uint64_t to_ring(uint64_t viewer_sequence) const { return first_ring + (viewer_sequence - first_viewer); }
    };
    // Number of packets that carry the mid, or a changed playout delay: by then a receiver that demultiplexes by mid
    // has learned the SSRC (RFC 9143, 15.2 allows to stop), and one of them has arrived. So none carries both.
    static constexpr uint32_t kExtendedPackets = 32;

    static constexpr size_t kMaxMid = 15;  // a longer mid is not sent

    void begin_extensions();
    void add_extension(uint8_t id, std::span<const uint8_t> data);
    void write_extensions();
    std::span<const uint8_t> next_header(const live::RtpPacket& packet, uint64_t viewer_sequence);
    [[gnu::cold, gnu::noinline]] std::span<const uint8_t> plainer_header(const live::RtpPacket& packet,
                                                                         uint64_t viewer_sequence);
    std::span<const uint8_t> start_header(const live::RtpPacket& packet, uint8_t payload_type, uint32_t ssrc,
                                          uint16_t sequence);

    std::array<uint8_t, rtp::kFixedHeaderSize + 4 + 1 + kMaxMid> header_{};
    uint8_t header_size_ = rtp::kFixedHeaderSize;
    uint8_t playout_delay_id_ = 0, send_time_id_ = 0;
    bool has_send_times_ = false;
    uint16_t playout_delay_ms_ = 0;
    media::Kind kind_;
    media::Codec codec_;
    uint8_t payload_type_, rtx_payload_type_, plain_payload_type_, red_payload_type_;
    bool nack_;
    bool begun_ = false;
    uint32_t ssrc_;
    uint32_t timestamp_add_ = 0;
    uint32_t packets_ = 0, octets_ = 0;
    uint32_t told_at_ = kExtendedPackets;  // packets_, from which on mid and playout delay are known
    uint64_t highest_;                     // the highest viewer sequence number sent
    Segment now_;
    Segment before_;
    uint64_t rtx_sequence_;  // of the next RTX packet
    uint32_t rtx_ssrc_;
};

}  // namespace service::rtc

#include "service/rtc/play/send_track.h"

#include <algorithm>

namespace service::rtc {

SendTrack::SendTrack(const SendFormat& format, uint16_t first_sequence)
    : twcc_id_(format.twcc_id),
      mid_id_(format.mid_id),
      kind_(format.kind),
      codec_(format.codec),
      payload_type_(format.payload_type),
      rtx_payload_type_(format.rtx_payload_type),
      nack_(format.nack),
      ssrc_(format.ssrc),
      highest_(first_sequence & 0x7fffu),
      rtx_sequence_(highest_),
      rtx_ssrc_(format.rtx_ssrc) {
    // Both use the one-byte form, whose ids end at 14.
    if (twcc_id_ > 14 || !extensions_may_change()) twcc_id_ = 0;
    if (mid_id_ > 14 || format.mid.empty() || format.mid.size() > mid_.size() || !extensions_may_change()) mid_id_ = 0;
    if (mid_id_ != 0) {
        mid_size_ = static_cast<uint8_t>(format.mid.size());
        std::ranges::copy(format.mid, mid_.begin());
    }
    write_form();
}

void SendTrack::begin_at(uint64_t ring_sequence) {
    if (packets_ > 0) before_ = now_;
    now_ = {ring_sequence, highest_ + 1};
    begun_ = true;
}

std::optional<uint64_t> SendTrack::to_ring_sequence(uint16_t viewer_sequence) const {
    if (packets_ == 0) return std::nullopt;
    // The newest number with these low 16 bits.
    const uint64_t back = static_cast<uint16_t>(static_cast<uint16_t>(highest_) - viewer_sequence);
    if (back > highest_) return std::nullopt;
    const uint64_t number = highest_ - back;
    if (now_.has(number)) return now_.to_ring(number);
    if (before_.has(number)) return before_.to_ring(number);
    return std::nullopt;
}

inline size_t SendTrack::fill(uint16_t& twcc) {
    if (twcc_id_ != 0) base::put_u16(&header_[17], twcc++);
    return mid_id_ == 0 ? header_size_ : fill_mid();
}

void SendTrack::write_form() {
    header_[0] = twcc_id_ != 0 ? 0x90 : 0x80;
    if (twcc_id_ == 0) return;
    base::put_u16(&header_[12], rtp::kOneByteProfile);
    base::put_u16(&header_[14], 1);
    header_[16] = static_cast<uint8_t>(twcc_id_ << 4 | 1);
    header_[19] = 0;
    header_size_ = 20;
}

// After the transport-wide number, if there is one.
size_t SendTrack::fill_mid() {
    if (packets_ >= kMidPackets) {
        mid_id_ = 0;
        write_form();
        return header_size_;
    }
    size_t at = twcc_id_ != 0 ? 19 : 16;
    header_[0] = 0x90;
    base::put_u16(&header_[12], rtp::kOneByteProfile);
    header_[at++] = static_cast<uint8_t>(mid_id_ << 4 | (mid_size_ - 1));
    for (size_t i = 0; i < mid_size_; ++i) header_[at++] = static_cast<uint8_t>(mid_[i]);
    while (at % 4 != 0) header_[at++] = 0;
    base::put_u16(&header_[14], static_cast<uint32_t>(at / 4 - 4));
    return at;
}

std::span<const uint8_t> SendTrack::header(const live::RtpPacket& packet, uint64_t viewer_sequence, uint16_t& twcc) {
    start_header(packet, payload_type_, ssrc_, static_cast<uint16_t>(viewer_sequence));
    const size_t size = fill(twcc);
    highest_ = std::max(highest_, viewer_sequence);
    ++packets_;
    octets_ += static_cast<uint32_t>(packet.payload.size());
    return {header_.data(), size};
}

SendTrack::Retransmission SendTrack::retransmission(const live::RtpPacket& packet, uint64_t viewer_sequence,
                                                    uint16_t& twcc) {
    const uint64_t index = has_rtx() ? rtx_sequence_++ : viewer_sequence;
    if (has_rtx()) {
        start_header(packet, rtx_payload_type_, rtx_ssrc_, static_cast<uint16_t>(index));
    } else {
        start_header(packet, payload_type_, ssrc_, static_cast<uint16_t>(index));
    }
    return {{header_.data(), fill(twcc)}, index};
}

void SendTrack::start_header(const live::RtpPacket& packet, uint8_t payload_type, uint32_t ssrc, uint16_t sequence) {
    header_[1] = static_cast<uint8_t>(payload_type | (packet.marker ? 0x80 : 0));
    rtp::set_sequence(header_.data(), sequence);
    rtp::set_timestamp(header_.data(), packet.timestamp);
    rtp::set_ssrc(header_.data(), ssrc);
}

}  // namespace service::rtc

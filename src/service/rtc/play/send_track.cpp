#include "service/rtc/play/send_track.h"

#include <algorithm>

#include "protocol/rtp/extensions.h"

namespace service::rtc {

SendTrack::SendTrack(const SendFormat& format, uint16_t first_sequence)
    : kind_(format.kind),
      codec_(format.codec),
      payload_type_(format.payload_type),
      rtx_payload_type_(format.rtx_payload_type),
      nack_(format.nack),
      ssrc_(format.ssrc),
      highest_(first_sequence & 0x7fffu),
      rtx_sequence_(highest_),
      rtx_ssrc_(format.rtx_ssrc) {
    header_[0] = 0x80;
    // A packet that is retransmitted unchanged has the header of its first transmission.
    const bool may_change = has_rtx() || !nack_;
    // The one-byte form, whose ids end at 14.
    const auto is_usable = [&](uint8_t id) { return may_change && id >= 1 && id <= 14; };
    if (is_usable(format.mid_id) && !format.mid.empty() && format.mid.size() <= kMaxMid)
        write_extension(format.mid_id, {reinterpret_cast<const uint8_t*>(format.mid.data()), format.mid.size()});
    if (is_usable(format.playout_delay_id)) playout_delay_id_ = format.playout_delay_id;
}

void SendTrack::write_extension(uint8_t id, std::span<const uint8_t> data) {
    header_[0] = 0x90;
    base::put_u16(&header_[12], rtp::kOneByteProfile);
    header_[16] = static_cast<uint8_t>(id << 4 | (data.size() - 1));
    std::ranges::fill(std::ranges::copy(data, header_.begin() + 17).out, header_.end(), uint8_t{0});
    const size_t words = (1 + data.size() + 3) / 4;
    base::put_u16(&header_[14], static_cast<uint32_t>(words));
    header_size_ = static_cast<uint8_t>(16 + 4 * words);
}

void SendTrack::set_playout_delay(uint16_t ms) {
    CHECK(takes_playout_delay());
    uint8_t value[rtp::kPlayoutDelayBytes];
    rtp::write_playout_delay(ms, rtp::kLongestPlayoutDelayMs, value);
    write_extension(playout_delay_id_, value);
    plain_from_ = packets_ + kExtendedPackets;
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

inline std::span<const uint8_t> SendTrack::start_header(const live::RtpPacket& packet, uint8_t payload_type,
                                                        uint32_t ssrc, uint16_t sequence) {
    if (packets_ == plain_from_) {
        header_[0] = 0x80;
        header_size_ = rtp::kFixedHeaderSize;
    }
    header_[1] = static_cast<uint8_t>(payload_type | (packet.marker ? 0x80 : 0));
    rtp::set_sequence(header_.data(), sequence);
    rtp::set_timestamp(header_.data(), packet.timestamp);
    rtp::set_ssrc(header_.data(), ssrc);
    return {header_.data(), header_size_};
}

std::span<const uint8_t> SendTrack::header(const live::RtpPacket& packet, uint64_t viewer_sequence) {
    const auto header = start_header(packet, payload_type_, ssrc_, static_cast<uint16_t>(viewer_sequence));
    highest_ = std::max(highest_, viewer_sequence);
    ++packets_;
    octets_ += static_cast<uint32_t>(packet.payload.size());
    return header;
}

SendTrack::Retransmission SendTrack::retransmission(const live::RtpPacket& packet, uint64_t viewer_sequence) {
    if (!has_rtx()) {
        const auto number = static_cast<uint16_t>(viewer_sequence);
        return {start_header(packet, payload_type_, ssrc_, number), viewer_sequence};
    }
    const uint64_t index = rtx_sequence_++;
    return {start_header(packet, rtx_payload_type_, rtx_ssrc_, static_cast<uint16_t>(index)), index};
}

}  // namespace service::rtc

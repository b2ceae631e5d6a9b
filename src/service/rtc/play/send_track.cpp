#include "service/rtc/play/send_track.h"

#include <algorithm>

#include "protocol/rtp/extensions.h"

namespace service::rtc {

SendTrack::SendTrack(const SendFormat& format, uint16_t first_sequence)
    : kind_(format.kind),
      codec_(format.codec),
      payload_type_(format.payload_type),
      rtx_payload_type_(format.rtx_payload_type),
      plain_payload_type_(format.payload_type),
      red_payload_type_(format.red_payload_type),
      nack_(format.nack),
      ssrc_(format.ssrc),
      highest_(first_sequence & 0x7fffu),
      rtx_sequence_(highest_),
      rtx_ssrc_(format.rtx_ssrc) {
    header_[0] = 0x80;
    // A packet that is retransmitted unchanged has the header of its first transmission.
    const bool may_change = has_rtx() || !nack_;
    // The one-byte form, whose ids end at 14.
    const auto usable = [&](uint8_t id) { return may_change && id <= 14 ? id : uint8_t{0}; };
    playout_delay_id_ = usable(format.playout_delay_id);
    send_time_id_ = usable(format.send_time_id);
    if (usable(format.mid_id) == 0 || format.mid.empty() || format.mid.size() > kMaxMid) return;
    begin_extensions();
    add_extension(format.mid_id, {reinterpret_cast<const uint8_t*>(format.mid.data()), format.mid.size()});
}

void SendTrack::begin_extensions() {
    header_[0] = 0x80;
    header_size_ = rtp::kFixedHeaderSize;
}

// They end at a word (RFC 8285, 4.1.2), to which zeros are added: what follows an element takes their place.
void SendTrack::add_extension(uint8_t id, std::span<const uint8_t> data) {
    if (header_[0] == 0x80) {
        header_[0] = 0x90;
        base::put_u16(&header_[12], rtp::kOneByteProfile);
        header_size_ = 16;
    }
    header_[header_size_] = static_cast<uint8_t>(id << 4 | (data.size() - 1));
    std::ranges::copy(data, &header_[header_size_ + 1u]);
    const size_t words = (1 + data.size() + 3) / 4;
    std::fill(&header_[header_size_ + 1u + data.size()], &header_[header_size_] + 4 * words, uint8_t{0});
    header_size_ = static_cast<uint8_t>(header_size_ + 4 * words);
    base::put_u16(&header_[14], static_cast<uint32_t>(header_size_ - 16) / 4);
}

// After the first packets. The time of sending stands first: see stamp().
void SendTrack::write_extensions() {
    begin_extensions();
    uint8_t value[rtp::kPlayoutDelayBytes]{};
    if (has_send_times_) add_extension(send_time_id_, value);
    if (packets_ >= told_at_) return;
    rtp::write_playout_delay(playout_delay_ms_, rtp::kLongestPlayoutDelayMs, value);
    add_extension(playout_delay_id_, value);
}

void SendTrack::set_send_times(bool on) {
    if (send_time_id_ == 0 || packets_ < kExtendedPackets || has_send_times_ == on) return;
    has_send_times_ = on;
    write_extensions();
}

void SendTrack::set_playout_delay(uint16_t ms) {
    CHECK(takes_playout_delay());
    playout_delay_ms_ = ms;
    told_at_ = packets_ + kExtendedPackets;
    write_extensions();
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
    header_[1] = static_cast<uint8_t>(payload_type | (packet.marker ? 0x80 : 0));
    rtp::set_sequence(header_.data(), sequence);
    rtp::set_timestamp(header_.data(), packet.timestamp + timestamp_add_);
    rtp::set_ssrc(header_.data(), ssrc);
    return {header_.data(), header_size_};
}

inline std::span<const uint8_t> SendTrack::next_header(const live::RtpPacket& packet, uint64_t viewer_sequence) {
    const auto header = start_header(packet, payload_type_, ssrc_, static_cast<uint16_t>(viewer_sequence));
    highest_ = std::max(highest_, viewer_sequence);
    ++packets_;
    octets_ += static_cast<uint32_t>(packet.payload.size());
    return header;
}

// The extensions change once in a while: a call of its own keeps what each packet needs in registers.
std::span<const uint8_t> SendTrack::header(const live::RtpPacket& packet, uint64_t viewer_sequence) {
    if (packets_ == told_at_) [[unlikely]]
        return plainer_header(packet, viewer_sequence);
    return next_header(packet, viewer_sequence);
}

std::span<const uint8_t> SendTrack::plainer_header(const live::RtpPacket& packet, uint64_t viewer_sequence) {
    write_extensions();
    return next_header(packet, viewer_sequence);
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

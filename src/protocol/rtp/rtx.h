#pragma once
// Retransmission (RFC 4588, 4 and 8.6): a packet is retransmitted with an SSRC, payload type and sequence number of the
// RTX stream; the payload begins with the original sequence number. Only SSRC multiplexing, which WebRTC uses.

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "protocol/rtp/packet.h"

namespace rtp {

inline constexpr size_t kRtxOverhead = 2;  // the original sequence number, before the payload

// Turns an RTX packet back into the original, in place: the header moves up by two bytes and gets the original's
// sequence number, payload type and SSRC. Returns the packet's new span. Nothing, and no change, when it is not RTP or
// contains no original: padding alone, which is sent to probe for bandwidth.
inline std::optional<std::span<uint8_t>> restore_rtx(std::span<uint8_t> packet, uint32_t ssrc, uint8_t payload_type) {
    auto view = PacketView::parse(packet);
    if (!view || view->payload().size() < kRtxOverhead) return std::nullopt;
    uint16_t sequence = get_u16(view->payload().data());
    std::memmove(packet.data() + kRtxOverhead, packet.data(), view->header_size());
    packet = packet.subspan(kRtxOverhead);
    set_sequence(packet.data(), sequence);
    set_payload_type(packet.data(), payload_type);
    set_ssrc(packet.data(), ssrc);
    return packet;
}

}  // namespace rtp

#pragma once
// Classifies a datagram on a WebRTC port by its first bytes (RFC 7983, 7; RTCP beside RTP on one port: RFC 5761, 4).
// Nothing is parsed here: the protocol's own parser decides whether the datagram is valid.

#include <cstdint>
#include <span>

#include "protocol/stun/message.h"

namespace stun {

enum class Packet : uint8_t { kStun, kDtls, kRtp, kRtcp, kOther };

inline Packet packet_kind(std::span<const uint8_t> datagram) {
    if (datagram.size() < 2) return Packet::kOther;
    const uint8_t first = datagram[0];
    if (first >= 128 && first <= 191) {
        // RTCP's types 192 to 223 equal RTP's payload types 64 to 95 with the marker bit, so those payload types are
        // not used.
        return datagram[1] >= 192 && datagram[1] <= 223 ? Packet::kRtcp : Packet::kRtp;
    }
    if (first <= 3) return looks_like_stun(datagram) ? Packet::kStun : Packet::kOther;
    if (first >= 20 && first <= 63) return Packet::kDtls;
    return Packet::kOther;
}

}  // namespace stun

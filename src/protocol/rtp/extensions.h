#pragma once
// The RTP header extensions used by WebRTC: their URIs in SDP, and the encoding of their values. The id of each
// extension is negotiated (RFC 8285, 5).

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/rtp/packet.h"

namespace rtp {

inline constexpr std::string_view kMidUri = "urn:ietf:params:rtp-hdrext:sdes:mid";            // RFC 9143
inline constexpr std::string_view kRidUri = "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id";  // RFC 8852
inline constexpr std::string_view kRepairedRidUri =
    "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id";  // RFC 8852
inline constexpr std::string_view kAbsSendTimeUri = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time";
inline constexpr std::string_view kTransportCcUri =
    "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";
inline constexpr std::string_view kAudioLevelUri = "urn:ietf:params:rtp-hdrext:ssrc-audio-level";  // RFC 6464
inline constexpr std::string_view kVideoOrientationUri = "urn:3gpp:video-orientation";             // TS 26.114
inline constexpr std::string_view kPlayoutDelayUri = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay";

inline constexpr size_t kTransportCcSize = 2;
inline constexpr size_t kAbsSendTimeSize = 3;
inline constexpr size_t kPlayoutDelaySize = 3;

// The transport-wide sequence number; nothing when the element has another size than 2 bytes (or 4, in version 2).
inline std::optional<uint16_t> transport_cc(std::span<const uint8_t> data) {
    if (data.size() != 2 && data.size() != 4) return std::nullopt;
    return get_u16(data.data());
}
inline void put_transport_cc(uint8_t* p, uint16_t sequence) { base::put_u16(p, sequence); }

// Seconds as 6.18 bits of fixed point: wraps every 64 s.
inline std::optional<uint32_t> abs_send_time(std::span<const uint8_t> data) {
    if (data.size() != 3) return std::nullopt;
    return uint32_t{data[0]} << 16 | get_u16(&data[1]);
}
inline void put_abs_send_time(uint8_t* p, int64_t now_us) {
    auto us = static_cast<uint64_t>(now_us) % 64'000'000;
    base::put_u24(p, static_cast<uint32_t>((us << 18) / 1'000'000));
}

// Both values have a resolution of 10 ms and are at most 40,950 ms.
inline void put_playout_delay(uint8_t* p, uint32_t min_ms, uint32_t max_ms) {
    base::put_u24(p, (min_ms / 10 & 0xfff) << 12 | (max_ms / 10 & 0xfff));
}

inline std::string_view text_value(std::span<const uint8_t> data) {  // mid, rid
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace rtp

#pragma once
// The RTP header extensions whose values the server reads or writes: their encoding. The id of each extension is
// negotiated (RFC 8285, 5), by the URIs of protocol/sdp.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/rtp/packet.h"

namespace rtp {

inline constexpr std::string_view kTransportCcUri =
    "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";

// The transport-wide sequence number; nothing when the element has another size than 2 bytes (or 4, in version 2).
inline std::optional<uint16_t> transport_cc(std::span<const uint8_t> data) {
    if (data.size() != 2 && data.size() != 4) return std::nullopt;
    return get_u16(data.data());
}

// Playout delay (http://www.webrtc.org/experiments/rtp-hdrext/playout-delay): how long a receiver holds frames back, at
// least and at most: 12 bits each, in 10 ms.
inline constexpr size_t kPlayoutDelayBytes = 3;
inline constexpr uint32_t kLongestPlayoutDelayMs = 40'950;

inline void write_playout_delay(uint32_t least_ms, uint32_t most_ms, std::span<uint8_t, kPlayoutDelayBytes> out) {
    const uint32_t least = std::min(least_ms, kLongestPlayoutDelayMs) / 10;
    const uint32_t most = std::min(most_ms, kLongestPlayoutDelayMs) / 10;
    out[0] = static_cast<uint8_t>(least >> 4);
    out[1] = static_cast<uint8_t>(least << 4 | most >> 8);
    out[2] = static_cast<uint8_t>(most);
}

// The time of sending (http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time): 24 bits of seconds, 18 of them
// behind the point, of any clock.
inline constexpr size_t kSendTimeBytes = 3;

inline void write_send_time(int64_t us, std::span<uint8_t, kSendTimeBytes> out) {
    const auto time =
        static_cast<uint64_t>(us) / 1'000'000 << 18 | (static_cast<uint64_t>(us) % 1'000'000 << 18) / 1'000'000;
    out[0] = static_cast<uint8_t>(time >> 16);
    out[1] = static_cast<uint8_t>(time >> 8);
    out[2] = static_cast<uint8_t>(time);
}

inline std::string_view text_value(std::span<const uint8_t> data) {  // mid, rid
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace rtp

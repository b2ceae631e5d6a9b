#pragma once
// The RTP header extensions whose values the server reads: their encoding. The id of each extension is negotiated (RFC
// 8285, 5), by the URIs of protocol/sdp.

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

inline std::string_view text_value(std::span<const uint8_t> data) {  // mid, rid
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace rtp

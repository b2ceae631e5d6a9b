#include "protocol/websocket/frame.h"

#include <algorithm>

namespace websocket {

base::Slice control_frame(Opcode opcode, std::span<const uint8_t> payload) {
    payload = payload.first(std::min<size_t>(payload.size(), 125));
    uint8_t header[kMaxFrameHeader];
    size_t n = frame_header(header, payload.size(), opcode);
    base::SliceBuilder out(n + payload.size());
    out.append(std::span(header, n));
    out.append(payload);
    return out.freeze();
}

base::Slice close_frame(uint16_t code, std::string_view reason) {
    uint8_t payload[125];
    payload[0] = static_cast<uint8_t>(code >> 8);
    payload[1] = static_cast<uint8_t>(code);
    size_t n = std::min<size_t>(reason.size(), sizeof payload - 2);
    std::copy_n(reason.data(), n, payload + 2);
    return control_frame(Opcode::kClose, std::span(payload, n + 2));
}

}  // namespace websocket

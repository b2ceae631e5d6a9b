#pragma once
// WebSocket frames (RFC 6455, section 5) and close codes (section 7.4), as a server writes them: unmasked,
// unfragmented.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/slice.h"

namespace websocket {

enum class Opcode : uint8_t { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

enum CloseCode : uint16_t {
    kNormal = 1000,
    kGoingAway = 1001,
    kProtocolError = 1002,
    kUnsupportedData = 1003,
    kInvalidText = 1007,
    kPolicyViolation = 1008,
    kMessageTooBig = 1009,
    kInternalError = 1011,
};

inline constexpr size_t kMaxFrameHeader = 10;

// The size of the header before n bytes of payload.
constexpr size_t frame_header_size(uint64_t n) { return n < 126 ? 2 : n <= 0xffff ? 4 : 10; }
// Writes the header to out, which has kMaxFrameHeader bytes; returns its size. Hot path.
inline size_t frame_header(uint8_t* out, uint64_t n, Opcode opcode = Opcode::kBinary) {
    out[0] = static_cast<uint8_t>(0x80 | static_cast<uint8_t>(opcode));
    if (n < 126) {
        out[1] = static_cast<uint8_t>(n);
        return 2;
    }
    int count = n <= 0xffff ? 2 : 8;
    out[1] = static_cast<uint8_t>(count == 2 ? 126 : 127);
    for (int i = 0; i < count; ++i) out[2 + i] = static_cast<uint8_t>(n >> (8 * (count - 1 - i)));
    return static_cast<size_t>(2 + count);
}

// Complete small frames. A control frame's payload is truncated to 125 bytes.
base::Slice control_frame(Opcode opcode, std::span<const uint8_t> payload);
base::Slice close_frame(uint16_t code, std::string_view reason);

}  // namespace websocket

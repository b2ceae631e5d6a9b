#pragma once
// Splits messages into chunks (Adobe RTMP 1.0, 5.3): each message has a type 0 header, followed by type 3 headers, so
// that no message depends on the one before. An extended timestamp is repeated in each type 3 chunk, as most peers
// expect. Hot path: the exact size first, then one pass into memory of the caller; no allocation, no error.

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "protocol/rtmp/message.h"

namespace rtmp {

inline constexpr size_t basic_header_size(uint32_t csid) { return csid < 64 ? 1 : csid < 320 ? 2 : 3; }

// The size in bytes on the wire of a message with that many bytes of payload (at most kMaxMessage). chunk_size is at
// least 1.
inline constexpr size_t chunked_size(size_t payload, uint32_t chunk_size, uint32_t timestamp, uint32_t csid = 3) {
    size_t extended = timestamp >= 0xffffff ? 4 : 0;
    size_t continuations = payload ? (payload - 1) / chunk_size : 0;
    return basic_header_size(csid) + 11 + extended + payload + continuations * (basic_header_size(csid) + extended);
}

// Writes chunked_size() bytes at out and returns the position after them. The payload is header followed by body.
uint8_t* write_chunks(uint8_t* out, uint32_t csid, uint8_t type, uint32_t stream_id, uint32_t timestamp,
                      std::span<const uint8_t> header, std::span<const uint8_t> body, uint32_t chunk_size);

// The same, appended to a buffer that the caller owns (and bounds).
void append_message(std::vector<uint8_t>& out, uint32_t csid, uint8_t type, uint32_t stream_id, uint32_t timestamp,
                    std::span<const uint8_t> payload, uint32_t chunk_size);
inline void append_message(std::vector<uint8_t>& out, const Message& message, uint32_t chunk_size) {
    append_message(out, message.csid, message.type, message.stream_id, message.timestamp, message.payload, chunk_size);
}

}  // namespace rtmp

#include "protocol/rtmp/stream_id_rewriter.h"

#include <algorithm>

#include "protocol/rtmp/chunk_writer.h"

namespace rtmp {

void StreamIdRewriter::rewrite(std::span<uint8_t> bytes) {
    while (!bytes.empty()) {
        if (rest_ == 0) {
            take_header_byte(bytes.front());
            bytes = bytes.subspan(1);
            continue;
        }
        const size_t skipped = std::min<uint64_t>(rest_, bytes.size());
        rest_ -= skipped;
        bytes = bytes.subspan(skipped);
    }
}

// Processes a byte of a type 0 header: one byte of format and chunk stream, three of the timestamp, three of the
// length, the type, and the id in four bytes, little-endian.
void StreamIdRewriter::take_header_byte(uint8_t& byte) {
    const uint32_t index = header_bytes_++;
    if (index == 0) {
        csid_ = byte & 0x3f;
        timestamp_ = length_ = 0;
    } else if (index < 4) {
        timestamp_ = timestamp_ << 8 | byte;
    } else if (index < 7) {
        length_ = length_ << 8 | byte;
    } else if (index >= 8) {
        byte = static_cast<uint8_t>(stream_id_ >> 8 * (index - 8));
    }
    if (header_bytes_ < kHeader) return;
    header_bytes_ = 0;
    // The extended timestamp is present for the value 0xffffff and above.
    rest_ = chunked_size(length_, chunk_size_, timestamp_, csid_) - kHeader;
}

}  // namespace rtmp

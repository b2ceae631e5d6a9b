#include "protocol/rtp/red.h"

#include "base/result.h"

namespace rtp {

base::Slice red_payload(uint8_t payload_type, std::span<const RedBlock> blocks, std::span<const uint8_t> primary) {
    size_t bytes = 4 * blocks.size() + 1 + primary.size();
    for (const RedBlock& block : blocks) {
        CHECK(block.payload.size() <= kMaxRedBlockBytes && block.timestamp_offset <= kMaxRedTimestampOffset);
        bytes += block.payload.size();
    }
    base::SliceBuilder out(bytes);
    for (const RedBlock& block : blocks) {
        const auto length = static_cast<uint32_t>(block.payload.size());
        const uint8_t header[] = {
            static_cast<uint8_t>(0x80 | payload_type), static_cast<uint8_t>(block.timestamp_offset >> 6),
            static_cast<uint8_t>(block.timestamp_offset << 2 | length >> 8), static_cast<uint8_t>(length)};
        out.append(header);
    }
    out.append({&payload_type, 1});
    for (const RedBlock& block : blocks) out.append(block.payload);
    out.append(primary);
    return out.freeze();
}

}  // namespace rtp

#include "live/rtp/red_payloads.h"

#include <utility>

#include "protocol/rtp/red.h"
#include "runtime/senders/senders.h"

namespace live {

namespace {

base::Slice make(const RtpRing& ring, const RtpPacket& packet, uint8_t payload_type) {
    std::array<rtp::RedBlock, RedPayloads::kOlder> blocks;
    size_t first = blocks.size(), bytes = packet.payload.size();
    for (uint64_t back = 1; back <= blocks.size(); ++back) {
        const RtpPacket* older = packet.sequence > back ? ring.find(packet.track, packet.sequence - back) : nullptr;
        const uint32_t offset = older ? packet.timestamp - older->timestamp : 0;
        if (offset == 0 || offset > rtp::kMaxRedTimestampOffset || older->payload.size() > rtp::kMaxRedBlockBytes)
            break;
        bytes += older->payload.size();
        if (bytes > RedPayloads::kMaxBytes) break;
        blocks[--first] = {older->payload.bytes(), offset};
    }
    return rtp::red_payload(payload_type, std::span(blocks).subspan(first), packet.payload.bytes());
}

}  // namespace

const base::Slice& RedPayloads::of(const RtpRing& ring, const RtpPacket& packet, uint8_t payload_type) {
    Made& made = made_[packet.sequence % kKept];
    if (made.sequence == packet.sequence && made.track == packet.track && made.payload_type == payload_type)
        return made.payload;
    drop(made);
    made = {packet.sequence, packet.track, payload_type, make(ring, packet, payload_type)};
    bytes_ += made.payload.size();
    return made.payload;
}

void RedPayloads::drop(Made& made) {
    bytes_ -= made.payload.size();
    runtime::Senders* threads = runtime::senders();
    if (threads && !made.payload.empty()) threads->retire(std::move(made.payload));
    made.payload = {};
}

void RedPayloads::clear() {
    for (Made& made : made_) {
        drop(made);
        made = {};
    }
}

}  // namespace live

#include "live/fanout/packet_index.h"

#include <algorithm>

namespace live {

void PacketIndex::append(media::Time dts, int64_t arrival_ms, size_t bytes) {
    packets_.push_back({head_, dts, arrival_ms});
    head_ += bytes;
}

void PacketIndex::trim(uint64_t tail) {
    while (!packets_.empty() && packets_.front().offset < tail) packets_.pop_front();
}

const PacketIndex::Packet* PacketIndex::packet_from(uint64_t offset) const {
    const size_t index = packets_.partition_point([&](const Packet& packet) { return packet.offset < offset; });
    return index == packets_.size() ? nullptr : &packets_[index];
}

uint64_t PacketIndex::packet_end(uint64_t offset) const {
    if (offset >= head_) return head_;
    const Packet* next = packet_from(offset);
    return next ? next->offset : head_;
}

uint64_t PacketIndex::offset_at(media::Time dts) const {
    // Audio and video are interleaved, not sorted: accurate enough for a limit in time.
    const size_t index = packets_.partition_point([&](const Packet& packet) { return packet.dts < dts; });
    return index == packets_.size() ? head_ : packets_[index].offset;
}

uint64_t PacketIndex::lag_limit(int64_t ms) const {
    if (packets_.empty()) return 0;
    uint64_t by_bytes = head_ > kMaxBytes ? head_ - kMaxBytes : 0;
    const int64_t oldest_ms = packets_.back().arrival_ms - ms;
    const size_t index = packets_.partition_point([&](const Packet& packet) { return packet.arrival_ms < oldest_ms; });
    return std::max(by_bytes, packets_[index].offset);
}

int64_t PacketIndex::ms_behind(uint64_t offset) const {
    const Packet* packet = packet_from(offset);
    return packet ? packets_.back().arrival_ms - packet->arrival_ms : 0;
}

}  // namespace live

#pragma once
// PacketIndex: where the packets of a log begin, with their times. Offsets count bytes from the log's beginning. Pure.

#include <cstddef>
#include <cstdint>

#include "base/chunk_queue.h"
#include "media/frame.h"

namespace live {

class PacketIndex {
  public:
    static constexpr uint64_t kMaxBytes = 128 * 1024 * 1024;

    // A packet of so many bytes at head().
    void append(media::Time dts, int64_t arrival_ms, size_t bytes);
    // Forgets the packets that begin before the offset.
    void trim(uint64_t tail);

    uint64_t head() const { return head_; }
    // The end of the packet that contains the offset; the offset itself at a packet's start.
    uint64_t packet_end(uint64_t offset) const;
    // The first packet at or after dts; head() when there is none.
    uint64_t offset_at(media::Time dts) const;
    // Viewers before this offset are more than ms (or kMaxBytes) behind: the packets there arrived so long before the
    // newest one. The publisher's times, which may jump, have no influence.
    uint64_t lag_limit(int64_t ms) const;
    // How long before the newest packet the one at the offset arrived.
    int64_t ms_behind(uint64_t offset) const;
    // Bytes of allocations.
    size_t memory() const { return packets_.memory(); }

  private:
    struct Packet {
        uint64_t offset;
        media::Time dts;
        int64_t arrival_ms;
    };
    // The first packet that begins at the offset or behind it; null when there is none.
    const Packet* packet_from(uint64_t offset) const;

    uint64_t head_ = 0;
    // In chunks: a publisher may send a million packets of two bytes between two cycles, and an index in one piece
    // would stop the loop for 25 ms when it grows.
    base::ChunkQueue<Packet, 32> packets_;
};

}  // namespace live

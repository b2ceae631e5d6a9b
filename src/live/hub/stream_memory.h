#pragma once
// StreamMemory: how much memory a stream holds, by what it is held for. Bytes of allocations, not of payload: who keeps
// a part of something keeps the whole of it. A frame that two hold is counted with each of them, so that the sum is
// what the stream takes at most.

#include <cstddef>
#include <cstdint>

#include "media/frame.h"

namespace live {

struct StreamMemory {
    size_t gop = 0;        // the GOP cache, and the tracks
    size_t mix_queue = 0;  // frames that mix_correct puts in order
    size_t logs = 0;       // encoded for viewers, per wire format
    size_t viewers = 0;    // what viewers that jumped have still to send of the packet they were in
    size_t rtp = 0;        // packets for WebRTC players
    size_t outputs = 0;    // what recorders, segmenters and converters keep

    size_t total() const { return gop + mix_queue + logs + viewers + rtp + outputs; }
};

// What a frame takes where it is kept.
inline size_t memory_of(const media::Frame& frame) { return sizeof(frame) + frame.payload.memory(); }

// Whoever holds memory that belongs to no stream any more: segments of streams that have ended.
class MemoryHolder {
  public:
    virtual size_t memory() const = 0;
    // All streams together hold more than they may: what can be let go of goes.
    virtual void release_memory() = 0;

  protected:
    ~MemoryHolder() = default;
};

}  // namespace live

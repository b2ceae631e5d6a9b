#pragma once
// StreamMemory: a stream's memory by purpose. Bytes of allocations, not of payload: a holder of a part of an allocation
// keeps the whole of it. A frame with two holders is counted for each of them, so the sum is an upper bound.

#include <cstddef>
#include <cstdint>

#include "media/frame.h"

namespace live {

struct StreamMemory {
    size_t gop = 0;        // the GOP cache, and the tracks, those of waiting publishers too
    size_t mix_queue = 0;  // frames that mix_correct sorts
    size_t logs = 0;       // encoded for viewers, per wire format
    size_t viewers = 0;    // what viewers that jumped have still to send of the packet they were in
    size_t rtp = 0;        // packets for WebRTC players
    size_t outputs = 0;    // held by recorders, segmenters and converters
    size_t input = 0;      // of the publisher: messages and frames whose end has not come

    size_t total() const { return gop + mix_queue + logs + viewers + rtp + outputs + input; }
};

// The memory of a frame where it is kept.
inline size_t memory_of(const media::Frame& frame) { return sizeof(frame) + frame.payload.memory(); }

// A holder of memory that no longer belongs to a stream: segments of streams that have ended.
class MemoryHolder {
  public:
    virtual size_t memory() const = 0;
    // All streams together exceed the limit: the holder releases what it can.
    virtual void release_memory() = 0;

  protected:
    ~MemoryHolder() = default;
};

}  // namespace live

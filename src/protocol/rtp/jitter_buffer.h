#pragma once
// JitterBuffer: puts the packets of one SSRC into sequence order. It waits for missing packets until the packet after
// the gap has waited for wait_us and they are not requested any more, or too many packets wait; then the missing ones
// are given up and the next packet is marked with after_hole. The caller passes the times.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/slice.h"

namespace rtp {

struct JitterLimits {
    size_t packets = 1024;      // that wait behind a gap
    int64_t wait_us = 400'000;  // for missing packets to arrive: several round trips
};

struct JitterPacket {
    uint64_t sequence = 0;  // unwrapped
    uint32_t timestamp = 0;
    bool marker = false;
    int64_t arrival_us = 0;
    base::Slice payload{};
};

struct JitterCounters {
    uint64_t given_up = 0;  // packets that did not arrive in time
    uint64_t late = 0;      // packets that arrived after they were given up, or twice
};

class JitterBuffer {
  public:
    struct Next {
        JitterPacket packet;
        bool after_hole = false;
    };
    explicit JitterBuffer(const JitterLimits& limits = {}) : limits_(limits) {}

    // After each push the caller pops until pop() returns nothing: that bounds the buffer.
    void push(JitterPacket packet);
    // The next packet in order; nothing: it has not arrived yet. requested_since_us: when the oldest packet was missed
    // that is still requested again; nothing: there is none.
    std::optional<Next> pop(int64_t now_us, std::optional<int64_t> requested_since_us = {});
    // Starts a new sequence with the next packet.
    void reset();

    // Bytes of allocations.
    size_t memory() const;
    size_t waiting() const { return packets_.size() - head_; }
    const JitterCounters& counters() const { return counters_; }

  private:
    JitterLimits limits_;
    std::vector<JitterPacket> packets_;  // from head_ on, in sequence order
    size_t head_ = 0;
    std::optional<uint64_t> next_;
    JitterCounters counters_;
};

}  // namespace rtp

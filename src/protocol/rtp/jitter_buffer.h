#pragma once
// JitterBuffer: puts the packets of one SSRC into order of sequence. A hole is waited for, until the packet behind it
// has been there for so long, or too many wait; then it is given up, and who reads is told. Pure: times are handed in.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/slice.h"

namespace rtp {

struct JitterLimits {
    size_t packets = 512;       // that wait behind a hole
    int64_t wait_us = 400'000;  // for a hole to be filled: several round trips
};

struct JitterPacket {
    uint64_t sequence = 0;  // unwrapped
    uint32_t timestamp = 0;
    bool marker = false;
    int64_t came_us = 0;
    base::Slice payload{};
};

struct JitterCounters {
    uint64_t given_up = 0;  // packets that never came in time
    uint64_t late = 0;      // packets that came after they had been given up, or twice
};

class JitterBuffer {
  public:
    struct Next {
        JitterPacket packet;
        bool after_hole = false;
    };
    explicit JitterBuffer(const JitterLimits& limits = {}) : limits_(limits) {}

    // Pop until nothing comes after each one: that bounds it.
    void push(JitterPacket packet);
    // The next in order; nothing: it is not there yet.
    std::optional<Next> pop(int64_t now_us);
    // The next packet is the first of another row.
    void reset();

    size_t waiting() const { return packets_.size() - head_; }
    const JitterCounters& counters() const { return counters_; }

  private:
    JitterLimits limits_;
    std::vector<JitterPacket> packets_;  // from head_ on, in order of sequence
    size_t head_ = 0;
    std::optional<uint64_t> next_;
    JitterCounters counters_;
};

}  // namespace rtp

#pragma once
// What the players of a stream share: its messages, each one packet's payload, by an index that grows by one and never
// wraps. Whoever owns the stream implements it as a ring.

#include <cstdint>
#include <span>

namespace srt {

class History {
  public:
    virtual ~History() = default;
    struct Entry {
        int64_t time_us = 0;             // never less than the one before, and not in the future
        std::span<const uint8_t> bytes;  // at most kLivePayload; valid until the history changes
    };
    // The oldest one that is kept, and the one after the newest; equal: none. Not negative.
    virtual int64_t first() const = 0;
    virtual int64_t end() const = 0;
    // first() <= index < end().
    virtual Entry entry(int64_t index) const = 0;
};

}  // namespace srt

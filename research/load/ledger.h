#pragma once
// Ledger: what the connections of one run have come to, all together. Each connection writes into it; progress lines
// and the report read it.

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "load/histogram.h"

namespace load {

struct Ledger {
    static constexpr size_t kMaxReasons = 40;

    uint32_t opening = 0;        // now
    uint32_t open = 0;           // now
    uint32_t opened = 0;         // ever
    uint32_t failed = 0;         // never opened
    uint32_t lost = 0;           // opened, then ended by the server or an error
    uint32_t stream_errors = 0;  // those among failed and lost whose bytes were not what the protocol allows
    uint32_t stalled = 0;        // publishers whose socket was full, ever
    uint64_t bytes = 0;          // received by viewers, sent by publishers
    uint64_t messages = 0;
    uint64_t rtp_packets = 0;  // received by viewers
    int64_t rtp_lost = 0;      // by their sequence numbers; those that came late after all are taken off again
    std::map<std::string, uint32_t> reasons;  // why connections failed or were lost; bounded
    Histogram first_frame_us;                 // from the connection's begin
    Histogram lateness_us;                    // of what a publisher sends, behind its due time

    void count_reason(const std::string& what, const base::Error& error);
};

// For handshakes: fast, and good enough for that.
void fill_random(std::span<uint8_t> bytes);

}  // namespace load

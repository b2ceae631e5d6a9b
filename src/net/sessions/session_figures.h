#pragma once
// SessionFigures: what a session's protocol has measured by its end, as plain values. What a protocol does not measure
// stays at its default.

#include <cstdint>
#include <string_view>

namespace net {

struct SessionFigures {
    std::string_view protocol{};  // a literal: "http-ts"; empty: it follows from the session's type
    uint64_t frames = 0;          // published; of a player: that its stream had while it played, skipped ones included
    uint64_t dropped = 0;         // messages or packets that could not be used, or that came or went too late
    uint32_t skips = 0;           // how often a player was too far behind and went on at a later keyframe
    uint64_t skipped_bytes = 0;   // by this
    uint32_t stalls = 0;          // a publisher sent no media, or a player accepted no byte, for kStallMs or longer
    int64_t stalled_ms = 0;       // all of them together
    int64_t last_stall_ms = 0;    // wall clock: when the last one ended; 0: there was none
    int64_t first_frame_ms = -1;  // from the accepted request to the first media; -1: there was none
    uint64_t lost = 0;            // packets that did not arrive, as far as the receiving side told
    uint64_t retransmitted = 0;   // packets

    static constexpr int64_t kStallMs = 1000;
};

}  // namespace net

#pragma once
// What WebRTC has come to in this process: for metrics. Counted by service/rtc, where it happens; what happens for each
// packet is added up with a session's ticks and at its end.

#include <cstdint>

namespace net {

struct RtcStats {
    // Now.
    uint64_t sessions = 0;
    uint64_t half_open = 0;  // of these: an offer, and no SRTP yet

    // Sessions.
    uint64_t created = 0;
    uint64_t connected = 0;
    uint64_t replaced = 0;           // half-open ones that made room for newer ones
    uint64_t refused_half_open = 0;  // offers for which there was no room

    // Datagrams: STUN, DTLS, SRTP and SRTCP.
    uint64_t received = 0;
    uint64_t sent = 0;
    uint64_t refused = 0;  // replayed, of a wrong tag, too early
    uint64_t unknown = 0;  // of no session
    uint64_t other = 0;    // nothing we know

    // Packets of publishers.
    uint64_t lost = 0;      // found missing
    uint64_t asked = 0;     // NACKs, for each packet and try
    uint64_t by_rtx = 0;    // came that way
    uint64_t given_up = 0;  // never came
    uint64_t keyframes_asked = 0;

    // Packets of players.
    uint64_t nacks = 0;           // asked for again
    uint64_t retransmitted = 0;   // and sent
    uint64_t nacks_refused = 0;   // not: beyond the budget
    uint64_t nacks_repeated = 0;  // not: asked for too soon or too often
    uint64_t nacks_unknown = 0;   // not: no longer there
    uint64_t keyframes_wanted = 0;
    uint64_t jumps = 0;  // to a later keyframe
};

// There is one.
inline RtcStats& rtc_stats() {
    static RtcStats stats;
    return stats;
}

}  // namespace net

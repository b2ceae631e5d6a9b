#pragma once
// WebRTC counters of this process, for metrics. Updated where the events happen; per-packet counters are added with a
// session's ticks and at its end.

#include <cstdint>

namespace service::rtc {

struct RtcStats {
    // Current values.
    uint64_t sessions = 0;
    uint64_t half_open = 0;  // of these: with an offer, but without SRTP yet

    // Sessions.
    uint64_t created = 0;
    uint64_t connected = 0;
    uint64_t replaced = 0;           // half-open sessions that were closed to make room for newer ones
    uint64_t refused_half_open = 0;  // offers refused because there was no room

    // Datagrams: STUN, DTLS, SRTP and SRTCP.
    uint64_t received = 0;
    uint64_t sent = 0;
    uint64_t refused = 0;  // replayed, with a wrong tag, too early
    uint64_t unknown = 0;  // of no known session
    uint64_t other = 0;    // of no known protocol

    // Players that are not sent the stream's own video in full: current values.
    uint64_t on_heads = 0;  // the heads of GOPs, or the audio alone
    uint64_t on_layer = 0;  // another layer

    // Packets of publishers.
    uint64_t lost = 0;             // detected as missing
    uint64_t nacks_sent = 0;       // NACKs, for each packet and attempt
    uint64_t received_by_rtx = 0;  // received by RTX
    uint64_t given_up = 0;         // never received
    uint64_t keyframe_requests_sent = 0;

    // Packets of players.
    uint64_t nacks = 0;           // requested for retransmission
    uint64_t retransmitted = 0;   // of these, retransmitted
    uint64_t nacks_refused = 0;   // not: beyond the budget
    uint64_t nacks_repeated = 0;  // not: requested again too soon or too often
    uint64_t nacks_unknown = 0;   // not: no longer in the buffer
    uint64_t keyframe_requests_received = 0;
    uint64_t jumps = 0;  // to a later keyframe, skipping frames
};

// The one instance.
inline RtcStats& rtc_stats() {
    static RtcStats stats;
    return stats;
}

// Counts itself in a current value.
class Counted {
  public:
    explicit Counted(uint64_t RtcStats::*value) : value_(value) { ++(rtc_stats().*value_); }
    ~Counted() { --(rtc_stats().*value_); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

  private:
    uint64_t RtcStats::*value_;
};

}  // namespace service::rtc

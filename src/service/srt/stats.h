#pragma once
// Counters of SRT in this process, for metrics. Those of sessions are added at their ends, and with their seconds.

#include <cstdint>

namespace service::srt {

struct Stats {
    uint64_t datagrams = 0;    // received
    uint64_t unknown = 0;      // of these: for no session, from another address, or no SRT
    uint64_t inductions = 0;   // answered
    uint64_t unanswered = 0;   // inductions beyond what is answered in a second
    uint64_t bad_cookies = 0;  // conclusions without a cookie of ours
    uint64_t admitted = 0;
    uint64_t refused = 0;  // after their conclusion
    // Of publishers.
    uint64_t received = 0;   // packets
    uint64_t lost = 0;       // of these: missing when a later one came
    uint64_t recovered = 0;  // of these: came in time
    uint64_t skipped = 0;    // never came in time, or could not be decrypted
    // Of players.
    uint64_t sent = 0;       // packets, without repairs
    uint64_t requested = 0;  // by NAK
    uint64_t retransmitted = 0;
    uint64_t dropped = 0;  // too late to be sent
};

}  // namespace service::srt

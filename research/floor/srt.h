#pragma once
// The floor for SRT: once per interval each player gets the interval's messages of seven packets of a transport stream,
// a header of its own before each payload, which all share, as messages that the kernel cuts (UDP_SEGMENT), by
// sendmmsg. More than one of these, 60 kB, go out in bursts 40 ms apart. ACKs are answered by ACKACKs, those of one
// receive together. What publishers send is counted, and acknowledged every 10 ms in which something came. No
// handshake, no losses: a datagram shorter than a header says that somebody is there: 'v' (player) or 'p' (publisher),
// and 24 bits of socket id, the same for both sides.

#include <cstdint>

// Returns the exit code. interval_ms: 20 to 1000.
int run_srt_floor(uint16_t port, int64_t kbps, int64_t interval_ms);

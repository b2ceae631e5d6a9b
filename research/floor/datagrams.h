#pragma once
// The floor for RTSP players by UDP: once per interval each of them gets the interval's RTP packets, those of video as
// one message that the kernel cuts (UDP_SEGMENT), those of audio as another, by sendmmsg from memory that all players
// share. No RTSP, no RTCP: whoever sends a datagram gets a track, video where its byte is 0, audio where it is 1.

#include <cstdint>

// Returns the exit code. interval_ms: 20 to 1000.
int run_datagram_floor(uint16_t port, int64_t kbps, int64_t interval_ms);

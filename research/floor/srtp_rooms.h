#pragma once
// The floor for rooms of WebRTC: many publishers with few players each. What came is received by recvmmsg, decrypted,
// encrypted for each player of its room and sent (floor/srtp_batch.h); the packets of one turn to one player follow one
// another, so that those of one size are one message. No ICE, no DTLS, no RTCP. A peer says who it is by a first
// datagram of four bytes: 'p' (publishes) or 'v' (views), then the room's number, 24 bits.

#include <cstdint>

// Returns the exit code.
int run_srtp_rooms_floor(uint16_t port);

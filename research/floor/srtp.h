#pragma once
// The floor for WebRTC players: each packet of an imitated stream encrypted for each of them (AES-128-GCM by OpenSSL, a
// context kept per player) into one arena, and sent by sendmmsg, those of one size in a row to one player as one
// message that the kernel cuts (UDP_SEGMENT). No ICE, no DTLS, no RTCP: whoever sends a datagram is a player.

#include <cstdint>

// kbps: of the stream, sound included. Returns the exit code.
int run_srtp_floor(uint16_t port, int64_t kbps);

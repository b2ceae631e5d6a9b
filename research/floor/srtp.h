#pragma once
// The floor for WebRTC players: each packet of an imitated stream encrypted for each of them (AES-128-GCM by OpenSSL, a
// context kept per player) into one arena, and sent by sendmmsg, those of one size in a row to one player as one
// message that the kernel cuts (UDP_SEGMENT). No ICE, no DTLS, no RTCP: whoever sends a datagram is a player.

#include <cstdint>

// What it sends each player: the packets of the server that it is compared with.
struct SrtpPackets {
    uint16_t port = 0;
    int64_t kbps = 0;       // of the stream, audio included
    int64_t audio_ms = 20;  // in a packet of audio; a multiple of 20
};

// Returns the exit code.
int run_srtp_floor(const SrtpPackets& packets);

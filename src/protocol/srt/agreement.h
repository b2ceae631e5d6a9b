#pragma once
// What a handshake agreed (draft-sharabayko-srt-01, 4.3 and 4.4): the beginning of a connection, for listener and
// caller alike.

#include <cstddef>
#include <cstdint>

#include "protocol/srt/packet.h"

namespace srt {

struct Agreement {
    uint32_t own_id = 0, peer_id = 0;  // socket ids
    uint32_t initial_sequence = 0;     // of both directions
    int64_t start_us = 0;              // when our timestamp is 0
    // Arrival of the peer's conclusion, and the timestamp in it.
    int64_t conclusion_us = 0;
    uint32_t conclusion_timestamp_us = 0;
    int64_t receive_latency_us = 120'000, send_latency_us = 120'000;
    uint32_t own_window = 8192, peer_window = 8192;  // packets
    bool drop_too_late = true;
    bool peer_repeats_naks = true;       // PERIODICNAK
    size_t max_datagram = kMaxDatagram;  // of the smaller MTU
    uint32_t peer_version = 0;           // of its library: 0x010505 is 1.5.5
    uint32_t peer_flags = 0;             // handshake.h
};

}  // namespace srt

#pragma once
// The floor of many rooms: what a single-threaded server does at least for publishers that have a few players each.
//
// Once per interval, spread over it in turns of 5 ms, each publisher is read by one recv, and each of its players gets
// an interval's bytes of the imitated stream by one writev. A connection whose first bytes are "GET /N." plays the
// stream of the publisher that came as number N, from 0 on; any other publishes, and its bytes are thrown away. It ends
// with SIGTERM.

#include <cstdint>

// listener: a listening TCP socket, non-blocking. The exit code.
int run_rooms_floor(int listener, int64_t kbps, int64_t interval_ms);

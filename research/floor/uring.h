#pragma once
// The floor for publishers where io_uring is allowed: one multishot receive per connection into a ring of buffers that
// the kernel picks from, and a look at what came every tick. Ends on SIGTERM or SIGINT and says what it moved.

#include <cstdint>

// listener: a listening socket, non-blocking. Returns the exit code; 3 where the kernel allows no io_uring.
int run_uring_floor(int listener, int64_t tick_ms);

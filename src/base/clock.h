#pragma once
// Time. Only for code that does IO: pure code gets times as arguments.

#include <cstdint>
#include <ctime>

namespace base {

// Microseconds of the monotonic clock: for deadlines, never for display.
inline int64_t monotonic_us() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000LL + t.tv_nsec / 1000;
}
inline int64_t monotonic_ms() { return monotonic_us() / 1000; }

// Milliseconds since 1970, for display and files.
inline int64_t wall_ms() {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1'000'000;
}

}  // namespace base

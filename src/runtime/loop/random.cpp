#include "runtime/loop/random.h"

#include <sys/random.h>

#include "base/clock.h"

namespace runtime {

uint64_t random_u64() {
    static uint64_t seed = [] {
        uint64_t value = static_cast<uint64_t>(base::monotonic_us());
        if (getrandom(&value, sizeof value, GRND_NONBLOCK) < 0) value ^= static_cast<uint64_t>(base::wall_ms()) << 20;
        return value;
    }();
    // splitmix64
    seed += 0x9e3779b97f4a7c15;
    uint64_t value = seed;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

}  // namespace runtime

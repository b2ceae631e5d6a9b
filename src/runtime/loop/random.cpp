#include "runtime/loop/random.h"

#include <fmt/ranges.h>
#include <sys/random.h>

#include <cerrno>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

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

// A signal may interrupt it after 256 bytes.
void fill_secret(std::span<uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
        CHECK(got > 0 || errno == EINTR);
        if (got > 0) bytes = bytes.subspan(static_cast<size_t>(got));
    }
}

uint32_t secret_u32() {
    uint32_t value = 0;
    fill_secret({reinterpret_cast<uint8_t*>(&value), sizeof value});
    return value;
}

std::string secret_hex(size_t bytes) {
    std::vector<uint8_t> random(bytes);
    fill_secret(random);
    return fmt::format("{:02x}", fmt::join(random, ""));
}

}  // namespace runtime

#include <algorithm>
#include <cstdint>

#include "protocol/rtmp/handshake.h"

namespace {
void fill(std::span<uint8_t> bytes) { std::fill(bytes.begin(), bytes.end(), 0x5a); }

template <class Handshake>
void run(Handshake& handshake, std::span<const uint8_t> bytes, size_t step) {
    std::vector<uint8_t> out;
    while (!bytes.empty() && !handshake.done()) {
        auto n = handshake.feed(bytes.first(std::min(step, bytes.size())), 1, out);
        if (!n) return;
        if (*n > bytes.size() || out.size() > 3073) __builtin_trap();
        bytes = bytes.subspan(*n);
    }
}
}  // namespace

// The first byte sets the size of the pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    size_t step = 1 + data[0] * 16;
    std::span bytes(data + 1, size - 1);
    rtmp::ServerHandshake server(fill);
    run(server, bytes, step);
    rtmp::ClientHandshake client(fill, data[0] & 1);
    run(client, bytes, step);
    return 0;
}

// Client frames fed in pieces whose size is the first byte: the result must not depend on the size.

#include <algorithm>
#include <string>

#include "base/result.h"
#include "protocol/websocket/client_frames.h"

namespace {

std::string parse(std::span<const uint8_t> bytes, size_t piece) {
    websocket::ClientFrames frames(300);
    std::string seen;
    while (!bytes.empty() && !frames.error_code()) {
        size_t used = 0;
        auto message = frames.feed(bytes.first(std::min(piece, bytes.size())), used);
        CHECK(used > 0 && used <= bytes.size());
        bytes = bytes.subspan(used);
        if (!message) continue;
        CHECK(message->payload.size() <= 300);
        seen += message->payload + std::to_string(message->close_code) + "\n";
    }
    return seen + std::to_string(frames.error_code());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    std::span<const uint8_t> bytes(data + 1, size - 1);
    CHECK(parse(bytes, data[0] + 1u) == parse(bytes, SIZE_MAX));
    return 0;
}

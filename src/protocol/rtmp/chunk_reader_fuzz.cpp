#include <algorithm>
#include <cstdint>

#include "protocol/rtmp/chunk_reader.h"

namespace {
// A checksum of the output, to compare two ways of splitting the input.
struct Sink : rtmp::MessageSink {
    base::Result<bool> on_message(rtmp::Message& m) override {
        add(m.type), add(m.csid), add(m.stream_id), add(m.timestamp);
        for (uint8_t b : m.payload) add(b);
        return ++messages % stop_every != 0;
    }
    void add(uint32_t v) { sum = (sum ^ v) * 1099511628211u; }
    uint64_t sum = 1;
    uint32_t messages = 0;
    uint32_t stop_every = 1;
};

bool run(std::span<const uint8_t> bytes, size_t step, Sink& sink) {
    rtmp::ChunkReader reader;
    while (!bytes.empty()) {
        auto piece = bytes.first(std::min(step, bytes.size()));
        auto n = reader.feed(piece, sink);
        if (!n) return false;
        if (*n > piece.size() || reader.in_progress() > rtmp::ChunkReader::kMaxInProgress) __builtin_trap();
        bytes = bytes.subspan(*n);
    }
    return true;
}
}  // namespace

// The first byte sets the size of the pieces that are fed; then the input is fed whole, and must give the same
// messages.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    std::span bytes(data + 1, size - 1);
    Sink in_pieces, whole;
    whole.stop_every = 1000000;
    bool a = run(bytes, 1 + data[0], in_pieces);
    bool b = run(bytes, size, whole);
    if (a != b || in_pieces.sum != whole.sum) __builtin_trap();
    return 0;
}

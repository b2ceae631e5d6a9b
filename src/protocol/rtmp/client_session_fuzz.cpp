#include <algorithm>
#include <cstdint>

#include "protocol/rtmp/client_session.h"

namespace {
struct Handler final : rtmp::ClientHandler {
    void on_ready() override {}
    base::Result<void> on_media(rtmp::Message&) override { return {}; }
    void on_status(std::string_view, std::string_view) override {}
};
}  // namespace

// The first byte: the size of the pieces, and whether the client publishes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    size_t step = 1 + (data[0] & 0x7f) * 8;
    std::span bytes(data + 1, size - 1);
    Handler handler;
    rtmp::ClientSession session(handler, *rtmp::parse_url("rtmp://h/live/s"), {.publish = (data[0] & 0x80) != 0});
    session.start();
    while (!bytes.empty()) {
        auto piece = bytes.first(std::min(step, bytes.size()));
        if (!session.feed(piece)) return 0;
        session.output().clear();
        bytes = bytes.subspan(piece.size());
    }
    session.close();
    return 0;
}

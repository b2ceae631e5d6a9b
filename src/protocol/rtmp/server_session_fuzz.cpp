// The whole input of a server: handshake and session. The first byte: the size of the pieces, and whether the handshake
// is skipped and decisions are delayed.

#include <algorithm>
#include <cstdint>

#include "protocol/rtmp/handshake.h"
#include "protocol/rtmp/server_session.h"

namespace {

void fill(std::span<uint8_t> bytes) { std::fill(bytes.begin(), bytes.end(), 0x5a); }

struct Handler final : rtmp::ServerHandler {
    rtmp::ServerSession session{*this};
    bool late = false;
    enum { kNothing, kConnect, kPublish, kPlay } asked = kNothing;
    uint32_t stream = 0;

    void decide() {
        auto what = std::exchange(asked, kNothing);
        if (what == kConnect) session.accept_connect({});
        if (what == kPublish) session.accept_publish(stream);
        if (what == kPlay) stream % 2 ? session.accept_play(stream, true) : session.refuse_play(stream, "code", "no");
    }
    void ask(decltype(asked) what, uint32_t id) {
        asked = what;
        stream = id;
        if (!late) decide();
    }
    void on_connect(rtmp::ConnectRequest) override { ask(kConnect, 0); }
    void on_publish(rtmp::PublishRequest r) override { ask(kPublish, r.stream_id); }
    void on_play(rtmp::PlayRequest r) override { ask(kPlay, r.stream_id); }
    base::Result<void> on_media(uint32_t, rtmp::Message&) override { return {}; }
    void on_close_stream(uint32_t) override {}
    void on_pause(uint32_t, bool) override {}
    void on_receive(uint32_t, media::Kind, bool) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    size_t step = 1 + (data[0] & 0x3f) * 16;
    std::span bytes(data + 1, size - 1);
    if (data[0] & 0x80) {
        rtmp::ServerHandshake handshake(fill);
        std::vector<uint8_t> out;
        auto n = handshake.feed(bytes, 1, out);
        if (!n || !handshake.done()) return 0;
        bytes = bytes.subspan(*n);
    }
    Handler handler;
    handler.late = data[0] & 0x40;
    while (!bytes.empty() || handler.session.has_backlog()) {
        const bool backlog = handler.session.has_backlog();
        auto n = handler.session.feed(bytes.first(std::min(step, bytes.size())));
        if (!n) return 0;
        // No input is consumed while an aggregate is in progress, which must end.
        const bool waits = backlog || handler.session.deciding() || handler.session.has_output();
        if (*n == 0 && !waits) __builtin_trap();
        handler.decide();
        (void)handler.session.take_output();
        bytes = bytes.subspan(*n);
    }
    return 0;
}

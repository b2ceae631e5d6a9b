// The whole input of a server: handshake and session. The first byte: the size of the pieces, and whether the handshake
// is skipped and decisions are delayed. What the server answers is read: each answer is a valid message of a kind that
// servers send, media come only for streams that are published, and events only for streams that are played.

#include <algorithm>
#include <cstdint>
#include <set>

#include "protocol/rtmp/handshake.h"
#include "protocol/rtmp/server_session.h"

namespace {

void fill(std::span<uint8_t> bytes) { std::fill(bytes.begin(), bytes.end(), 0x5a); }

struct Handler final : rtmp::ServerHandler, rtmp::MessageSink {
    rtmp::ServerSession session{*this};
    bool late = false;
    enum { kNothing, kConnect, kPublish, kPlay } asked = kNothing;
    uint32_t stream = 0;
    bool connected = false;
    std::set<uint32_t> published, played;
    rtmp::ChunkReader answers;

    void decide() {
        auto what = std::exchange(asked, kNothing);
        if (what == kConnect) {
            connected = true;
            session.accept_connect({});
        }
        if (what == kPublish) {
            published.insert(stream);
            session.accept_publish(stream);
        }
        if (what == kPlay && stream % 2) {
            played.insert(stream);
            session.accept_play(stream, true);
        } else if (what == kPlay) {
            session.refuse_play(stream, "code", "no");
        }
    }
    void ask(decltype(asked) what, uint32_t id) {
        CHECK(asked == kNothing && connected == (what != kConnect));
        CHECK(!published.contains(id) && !played.contains(id));
        asked = what;
        stream = id;
        if (!late) decide();
    }
    void on_connect(rtmp::ConnectRequest) override { ask(kConnect, 0); }
    void on_publish(rtmp::PublishRequest r) override { ask(kPublish, r.stream_id); }
    void on_play(rtmp::PlayRequest r) override { ask(kPlay, r.stream_id); }
    base::Result<void> on_media(uint32_t id, rtmp::Message&) override {
        CHECK(published.contains(id));
        return {};
    }
    void on_close_stream(uint32_t id) override { CHECK(published.erase(id) + played.erase(id) == 1); }
    void on_pause(uint32_t id, bool) override { CHECK(played.contains(id)); }
    void on_receive(uint32_t id, media::Kind, bool) override { CHECK(played.contains(id)); }

    void check_answers() {
        const std::vector<uint8_t> bytes = session.take_output();
        const auto used = answers.feed(bytes, *this);
        CHECK(used && *used == bytes.size());
    }
    base::Result<bool> on_message(rtmp::Message& message) override {
        switch (message.type) {
            case rtmp::kAcknowledgement:
            case rtmp::kWindowAckSize:
            case rtmp::kSetPeerBandwidth:
                CHECK(rtmp::read_control_value(message));
                return true;
            case rtmp::kUserControl:
                CHECK(rtmp::read_user_control(message));
                return true;
            case rtmp::kData:
                CHECK(connected);
                return true;
            default:
                break;
        }
        CHECK(message.type == rtmp::kCommand);
        const auto command = rtmp::read_command(message);
        CHECK(command && !command->name.empty());
        const bool is_answer = command->name == "_result" || command->name == "_error";
        CHECK(is_answer || command->name.starts_with("on"));
        // An answer has the number of what it answers; 0 asks for none, except of connect.
        if (is_answer && connected && command->arguments.size() < 2) CHECK(command->transaction_id > 0);
        if (command->name == "onStatus") CHECK(!command->argument(1).get("code").string_or("").empty());
        return true;
    }
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
        handler.check_answers();
        bytes = bytes.subspan(*n);
    }
    return 0;
}

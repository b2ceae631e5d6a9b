// The whole input of a server: handshake and session. The first byte: the size of the pieces, and whether the handshake
// is skipped and decisions are delayed. What the server answers is read: each answer is a valid message of a kind that
// servers send, media come only for streams that are published, and events only for streams that are played.

#include <algorithm>
#include <cstdint>

#include "protocol/rtmp/handshake.h"
#include "protocol/rtmp/server_session.h"

namespace {

void fill(std::span<uint8_t> bytes) { std::fill(bytes.begin(), bytes.end(), 0x5a); }

struct Handler final : rtmp::ServerHandler, rtmp::MessageSink {
    rtmp::ServerSession session{*this};
    bool late = false;
    enum { kNothing, kConnect, kPublish, kPlay } asked = kNothing;
    uint32_t plays_asked = 0;
    bool connected = false, publishes = false, plays = false;
    rtmp::ChunkReader answers;

    void decide() {
        auto what = std::exchange(asked, kNothing);
        if (what == kConnect) {
            connected = true;
            session.accept_connect({});
        }
        if (what == kPublish) {
            publishes = true;
            session.accept_publish();
        }
        if (what == kPlay && ++plays_asked % 2) {
            plays = true;
            session.accept_play(true);
        } else if (what == kPlay) {
            session.refuse_play("code", "no");
        }
    }
    void ask(decltype(asked) what) {
        CHECK(asked == kNothing && connected == (what != kConnect));
        CHECK(!publishes && !plays);
        asked = what;
        if (!late) decide();
    }
    void on_connect(rtmp::ConnectRequest) override { ask(kConnect); }
    void on_publish(rtmp::PublishRequest) override { ask(kPublish); }
    void on_play(rtmp::PlayRequest) override { ask(kPlay); }
    base::Result<void> on_media(rtmp::Message&) override {
        CHECK(publishes);
        return {};
    }
    void on_close_stream() override {
        CHECK(publishes != plays);
        publishes = plays = false;
    }
    void on_pause(bool) override { CHECK(plays); }
    void on_receive(media::Kind, bool) override { CHECK(plays); }

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

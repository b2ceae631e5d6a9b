// What a peer sends behind its play: before the connection is parked, while it plays, and after the end of the play.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/rtmp/handshake.h"
#include "protocol/rtmp/messages.h"
#include "runtime/socket/memory_stream_testing.h"
#include "service/rtmp/testing.h"

namespace service::rtmp {
namespace {

using runtime::testing::MemoryPeer;
using testing::kInterFrame;
using testing::kStart;

class RtmpPlayTest : public testing::RtmpServiceTest {
  protected:
    // A client in memory: what it sends at once is read at once.
    void connect() {
        service_->accept(peer_.stream(), nullptr);
        std::string handshake(1 + 2 * ::rtmp::kHandshakeSize, '\0');
        handshake[0] = 3;
        const auto fields = amf::Value::object({{"app", "live"}, {"tcUrl", "rtmp://127.0.0.1/live"}});
        peer_.send(handshake + command("connect", 0, {fields}) + command("createStream", 0, {{}}));
        EXPECT_TRUE(has_answer("_result"));
        answers_.clear();
    }
    std::string command(std::string name, uint32_t stream_id, std::vector<amf::Value> arguments) {
        std::vector<uint8_t> wire;
        ::rtmp::append_command(wire, ::rtmp::kCommandChunkStream, stream_id,
                               {std::move(name), static_cast<double>(++transaction_), std::move(arguments)}, 60'000);
        return {wire.begin(), wire.end()};
    }
    std::string play(double duration_ms = -1) { return command("play", 1, {{}, "s", -2000, duration_ms}); }
    std::string pause(bool paused) { return command("pause", 1, {{}, paused, 0}); }

    bool has_answer(std::string_view text) {
        return until([&] { return (answers_ += peer_.take()).find(text) != std::string::npos; });
    }
    static bool until(const auto& done) {
        for (int i = 0; i < 200 && !done(); ++i) (void)runtime::sleep_ms(10).has_value();
        return done();
    }

    MemoryPeer peer_;
    std::string answers_;
    int transaction_ = 0;
};

TEST_F(RtmpPlayTest, APauseBehindThePlayHolds) {
    start();
    auto p = running();
    connect();
    peer_.send(play() + pause(true));
    EXPECT_TRUE(has_answer("NetStream.Pause.Notify"));
    EXPECT_LT(answers_.find("NetStream.Play.Start"), answers_.find("NetStream.Pause.Notify"));
    answers_.clear();
    p->send(::rtmp::kVideo, 40, kInterFrame);
    (void)runtime::sleep_ms(50).has_value();
    EXPECT_EQ(peer_.take(), "");
    peer_.send(pause(false));
    EXPECT_TRUE(has_answer({"\x27\x01\0\0\0", 5}));
}

TEST_F(RtmpPlayTest, ACloseAndAnotherPlayBehindThePlayAreObeyed) {
    start();
    auto p = running();
    connect();
    peer_.send(command("play", 1, {{}, "none"}) + command("closeStream", 1, {{}}) + play());
    EXPECT_TRUE(has_answer({"\x17\x01\0\0\0", 5}));
    EXPECT_FALSE(registry_.find({"__defaultVhost__", "live", "none"}));
}

TEST_F(RtmpPlayTest, AKickBeforeItIsParkedEndsIt) {
    start();
    connect();
    peer_.send(play() + pause(true));
    sessions_.for_each([](net::Session& s) { s.kick("by the test"); });
    EXPECT_TRUE(until([&] { return peer_.closed(); }));
    EXPECT_TRUE(until_idle());
}

// 60 kB of requests behind the play are one read, and take several slices: other coroutines run between them.
TEST_F(RtmpPlayTest, InputBehindThePlayIsProcessedInSlices) {
    start();
    const auto yields_until_answered = [&](size_t bytes) {
        peer_ = MemoryPeer();
        connect();
        std::string input = play();
        while (input.size() < bytes) input += pause(true) + pause(false);
        peer_.send(input);
        int yields = 0;
        for (; yields < 1'000 && peer_.take().empty(); ++yields) (void)runtime::yield().has_value();
        peer_.reset();
        EXPECT_TRUE(until_idle());
        return yields;
    };
    EXPECT_GT(yields_until_answered(60'000), yields_until_answered(0));
}

// The last statuses wait for a socket that is full; the connection then ends, and nobody decides about the request.
TEST_F(RtmpPlayTest, ARequestBehindTheEndOfAPlayIsNotDecided) {
    for (const bool publishes : {false, true}) {
        if (!service_) start();
        peer_ = MemoryPeer();
        auto p = running();
        connect();
        peer_.send(play(100));
        EXPECT_TRUE(has_answer({"\x17\x01\0\0\0", 5}));
        peer_.set_room(0);
        p->send(::rtmp::kVideo, 200, kInterFrame);
        (void)runtime::sleep_ms(50).has_value();
        peer_.send((publishes ? command("publish", 1, {{}, "other", "live"}) : play()) + pause(true));
        EXPECT_EQ(peer_.take(), "");
        EXPECT_FALSE(peer_.closed());
        answers_.clear();
        peer_.set_room(SIZE_MAX);
        EXPECT_TRUE(has_answer("NetStream.Play.Stop"));
        EXPECT_TRUE(until([&] { return peer_.closed(); }));
        EXPECT_EQ(answers_.find("Start"), std::string::npos);
        p.reset();
        EXPECT_TRUE(until_idle());
    }
}

}  // namespace
}  // namespace service::rtmp

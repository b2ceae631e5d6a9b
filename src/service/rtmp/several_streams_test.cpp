#include <gtest/gtest.h>

#include "base/clock.h"
#include "live/fanout/live_log.h"
#include "protocol/rtmp/chunk_writer.h"
#include "runtime/loop/testing.h"
#include "service/rtmp/service.h"
#include "service/rtmp/testing.h"

// One connection that plays or publishes several streams, one after another. A second one beside the first is refused.

namespace service::rtmp {
namespace {

using runtime::testing::ok;
using testing::kAudioFrame;
using testing::kAudioHeader;
using testing::kInterFrame;
using testing::kKeyframe;
using testing::kStart;
using testing::RtmpServiceTest;
using testing::TestClient;

TEST_F(RtmpServiceTest, PlaysAnotherStreamOnTheSameConnection) {
    snapshot_->rtmp.handshake_timeout = 300;
    start();
    auto a = running("live/a");
    auto b = publisher("live/b");
    b->send(::rtmp::kAudio, 0, kAudioHeader);
    b->send(::rtmp::kAudio, 20, kAudioFrame);
    auto v = player("live/a");
    EXPECT_EQ(v->media(4), kStart);
    v->call("closeStream", {{}});
    v->call("play", {{}, "b"});
    EXPECT_TRUE(v->hears("NetStream.Play.Start"));
    b->send(::rtmp::kAudio, 40, kAudioFrame);
    EXPECT_NE(v->media(2).find("8@"), std::string::npos);
    v->call("deleteStream", {{}, 1});
    v->call("play", {{}, "a"});
    EXPECT_NE(v->media(4).find("17:12"), std::string::npos);
    // Nothing is played any more and no command follows: it is treated like a connection that never started.
    v->call("closeStream", {{}});
    int64_t before = base::monotonic_ms();
    EXPECT_EQ(v->read_to_end(), "closed");
    EXPECT_LT(base::monotonic_ms() - before, 2000);
}

TEST_F(RtmpServiceTest, PublishesAnotherStreamOnTheSameConnection) {
    start();
    auto c = running("live/a");
    c->call("FCUnpublish", {{}, "a"}, 7);
    c->call("deleteStream", {{}, 1});
    c->call("createStream", {{}}, 8);
    c->call("publish", {{}, "b", "live"});
    const live::StreamKey b{"__defaultVhost__", "live", "b"};
    for (int i = 0; i < 200 && !registry_.find(b); ++i) (void)runtime::sleep_ms(10).has_value();
    send_start(*c);
    EXPECT_EQ(player("live/b")->media(4), kStart);
    EXPECT_FALSE(registry_.find({"__defaultVhost__", "live", "a"}));
}

TEST_F(RtmpServiceTest, ASecondStreamIsRefusedAndTheFirstGoesOn) {
    start();
    auto a = running("live/a");
    for (const bool publishes : {false, true}) {
        for (const char* second : {"play", "publish"}) {
            auto c = publishes ? running("live/b") : player("live/a");
            c->call_on(2, second, {{}, "c", "live"});
            // An error status ends the test's client.
            EXPECT_FALSE(c->hears("never"));
            EXPECT_FALSE(registry_.find({"__defaultVhost__", "live", "c"}));
            const auto stream = registry_.find({"__defaultVhost__", "live", publishes ? "b" : "a"});
            ASSERT_TRUE(stream);
            EXPECT_TRUE(stream->published());
            EXPECT_EQ(stream->demand(), publishes ? 0u : 1u);
            EXPECT_EQ(sessions_.size(), 2u);
            c.reset();
            for (int i = 0; i < 200 && sessions_.size() > 1; ++i) (void)runtime::sleep_ms(10).has_value();
        }
    }
}

// What a client sends at once may close a play and begin the next one.
TEST_F(RtmpServiceTest, ClosesAndPlaysAtOnce) {
    start();
    auto a = running("live/a");
    auto b = running("live/b");
    auto v = player("live/a");
    EXPECT_EQ(v->media(4), kStart);
    for (const char* name : {"b", "a", "b"}) {
        ::rtmp::append_command(v->session().output(), 3, 1, {"closeStream", 0, {{}}}, 60000);
        ::rtmp::append_command(v->session().output(), 3, 0, {"createStream", 9, {{}}}, 60000);
        ::rtmp::append_command(v->session().output(), 3, 1, {"play", 0, {{}, name}}, 60000);
        ASSERT_TRUE(ok(v->flush()));
        EXPECT_EQ(v->media(4), kStart);
    }
    EXPECT_EQ(registry_.find({"__defaultVhost__", "live", "b"})->demand(), 1u);
    EXPECT_EQ(registry_.find({"__defaultVhost__", "live", "a"})->demand(), 0u);
}

// A client may play on any message stream, and all are sent from one log, on message stream 1.
TEST_F(RtmpServiceTest, PlayersDoNotChooseHowManyLogsThereAre) {
    start();
    auto a = running("live/a");
    std::vector<std::unique_ptr<TestClient>> players;
    for (const uint32_t id : {0u, 1u, 5u, UINT32_MAX}) {
        auto v = player("live/a");
        EXPECT_EQ(v->media(4), kStart);
        v->call_on(0, "deleteStream", {{}, 1});
        v->call_on(id, "play", {{}, "a"});
        EXPECT_EQ(v->media_of({1}, 4), "1: " + std::string(kStart));
        players.push_back(std::move(v));
    }
    const auto stream = registry_.find({"__defaultVhost__", "live", "a"});
    size_t logs = 0;
    stream->for_each_log([&](live::LiveLog&) { ++logs; });
    EXPECT_EQ(logs, 1u);
    EXPECT_EQ(stream->demand(), 4u);
}

}  // namespace
}  // namespace service::rtmp

#include <gtest/gtest.h>

#include "base/clock.h"
#include "live/fanout/live_log.h"
#include "protocol/rtmp/chunk_writer.h"
#include "runtime/loop/testing.h"
#include "service/rtmp/service.h"
#include "service/rtmp/testing.h"

// One connection that plays several streams, sequentially or together, or publishes one and plays another.

namespace service::rtmp {
namespace {

using runtime::testing::ok;
using testing::kAudioFrame;
using testing::kAudioHeader;
using testing::kInterFrame;
using testing::kKeyframe;
using testing::kStart;
using testing::RtmpServiceTest;

TEST_F(RtmpServiceTest, PlaysAnotherStreamOnTheSameConnection) {
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
    // And with play only.
    v->call("play", {{}, "a"});
    EXPECT_NE(v->media(4).find("17:12"), std::string::npos);
    // Nothing is played any more and no command follows: it is treated like a connection that never started.
    v->call("closeStream", {{}});
    int64_t before = base::monotonic_ms();
    EXPECT_EQ(v->read_to_end(), "closed");
    EXPECT_LT(base::monotonic_ms() - before, 2000);
}

TEST_F(RtmpServiceTest, PublishesAndPlaysOnOneConnection) {
    vhost().publish.normal_timeout = 500;
    start();
    auto a = running("live/a");
    auto both = player("live/a");
    EXPECT_EQ(both->media(4), kStart);
    ::rtmp::append_command(both->session().output(), 3, 2, {"publish", 0, {{}, "b", "live"}}, 60000);
    EXPECT_TRUE(both->hears("NetStream.Publish.Start"));
    auto v = player("live/b");
    ::rtmp::append_message(both->session().output(), 4, ::rtmp::kAudio, 2, 0, kAudioHeader, 60000);
    ::rtmp::append_message(both->session().output(), 4, ::rtmp::kAudio, 2, 20, kAudioFrame, 60000);
    ASSERT_TRUE(ok(both->flush()));
    EXPECT_NE(v->media(2).find("af:4"), std::string::npos);
    // Its silence is noticed although it has no coroutine.
    for (uint32_t t = 40; t < 2000 && !both->socket().peer_gone(); t += 40) {
        a->send(::rtmp::kVideo, t, kInterFrame);
        (void)runtime::sleep_ms(40).has_value();
    }
    EXPECT_FALSE(registry_.find({"__defaultVhost__", "live", "b"})->published());
}

TEST_F(RtmpServiceTest, PlaysSeveralStreamsOnOneConnection) {
    start();
    auto a = running("live/a");
    auto b = running("live/b");
    auto v = player("live/a");
    v->call_on(2, "play", {{}, "b"});
    v->call_on(3, "play", {{}, "a"});
    const std::string start_text(kStart);
    EXPECT_EQ(v->media_of({1, 2, 3}, 4), "1: " + start_text + "2: " + start_text + "3: " + start_text);
    a->send(::rtmp::kVideo, 40, kInterFrame);
    b->send(::rtmp::kVideo, 50, kInterFrame);
    EXPECT_EQ(v->media_of({1, 2, 3}, 1), "1: 9@40 27:12;2: 9@50 27:12;3: 9@40 27:12;");
    EXPECT_EQ(registry_.find({"__defaultVhost__", "live", "a"})->viewer_count(), 2u);
    EXPECT_EQ(sessions_.size(), 3u);

    // Pausing or closing one stream does not affect the others.
    v->call_on(3, "pause", {{}, true, 0});
    EXPECT_TRUE(v->hears("NetStream.Pause.Notify"));
    v->call_on(0, "deleteStream", {{}, 1});
    v->call_on(2, "receiveAudio", {{}, false});
    for (int i = 0; i < 200 && registry_.find({"__defaultVhost__", "live", "a"})->viewer_count() > 1; ++i)
        (void)runtime::sleep_ms(10).has_value();
    EXPECT_EQ(v->media_of({2}, 3).find("2: 9@0 17:46;9@0 17:12;"), 0u);  // restarts without audio
    a->send(::rtmp::kVideo, 80, kInterFrame);
    b->send(::rtmp::kAudio, 80, kAudioFrame);
    b->send(::rtmp::kVideo, 90, kInterFrame);
    EXPECT_EQ(v->media_of({2}, 1), "2: 9@90 27:12;");
    EXPECT_EQ(v->media(0), "");

    // The message stream id can be reused while the others play.
    v->call_on(1, "play", {{}, "b"});
    EXPECT_EQ(v->media_of({1}, 4), "1: " + start_text);
    v->call_on(3, "pause", {{}, false, 0});
    EXPECT_EQ(v->media_of({3}, 4), "3: " + start_text);
    v.reset();
    a.reset();
    b.reset();
    EXPECT_TRUE(until_idle());
}

// A client may play on any message stream id, and all are sent from one log.
TEST_F(RtmpServiceTest, PlayersDoNotChooseHowManyLogsThereAre) {
    start();
    auto a = running("live/a");
    auto bystander = player("live/a");
    std::vector<std::unique_ptr<TestClient>> players;
    const std::vector<uint32_t> ids{0, 5, 77, 0x01020304, UINT32_MAX};
    for (uint32_t id : ids) {
        auto v = player("live/a");
        v->call_on(0, "deleteStream", {{}, 1});
        v->call_on(id, "play", {{}, "a"});
        EXPECT_EQ(v->media_of({id}, 4), fmt::format("{}: {}", id, kStart));
        players.push_back(std::move(v));
    }
    a->send(::rtmp::kVideo, 40, kInterFrame);
    for (size_t i = 0; i < ids.size(); ++i)
        EXPECT_EQ(players[i]->media_of({ids[i]}, 1), fmt::format("{}: 9@40 27:12;", ids[i]));
    EXPECT_EQ(bystander->media(5), std::string(kStart) + "9@40 27:12;");
    size_t logs = 0;
    auto stream = registry_.find({"__defaultVhost__", "live", "a"});
    ASSERT_TRUE(stream);
    stream->for_each_log([&](live::LiveLog&) { ++logs; });
    EXPECT_EQ(logs, 1u);
    stream = {};
    players.clear();
    bystander.reset();
    a.reset();
    EXPECT_TRUE(until_idle());
}

TEST_F(RtmpServiceTest, ThePlayedStreamsEndOneByOne) {
    start();
    auto a = running("live/a");
    auto b = running("live/b");
    auto v = player("live/a");
    v->call_on(2, "play", {{}, "b"});
    v->media_of({1, 2}, 4);
    a.reset();
    EXPECT_TRUE(v->hears("NetStream.Play.UnpublishNotify"));
    b->send(::rtmp::kVideo, 40, kInterFrame);
    EXPECT_EQ(v->media_of({2}, 1), "2: 9@40 27:12;");
    b.reset();
    EXPECT_EQ(v->read_to_end(), "closed");
    EXPECT_TRUE(until_idle());
}

// It continues as a publisher, or as a connection that must begin something soon.
TEST_F(RtmpServiceTest, TheLastOfSeveralPlaysIsClosed) {
    start();
    auto a = running("live/a");
    for (bool publishes : {false, true}) {
        auto v = player("live/a");
        v->call_on(2, "play", {{}, "a"});
        if (publishes) v->call_on(3, "publish", {{}, "b", "live"});
        v->media_of({1, 2}, 4);
        v->call_on(1, "closeStream", {{}});
        v->call_on(2, "closeStream", {{}});
        if (!publishes) {
            v->call_on(1, "play", {{}, "a"});
            EXPECT_EQ(v->media_of({1}, 4), "1: " + std::string(kStart));
            v->call_on(1, "closeStream", {{}});
            EXPECT_EQ(v->read_to_end(), "closed");
            continue;
        }
        (void)runtime::sleep_ms(500).has_value();  // longer than handshake_timeout
        auto w = player("live/b");
        ::rtmp::append_message(v->session().output(), 4, ::rtmp::kAudio, 3, 20, kAudioFrame, 60000);
        ASSERT_TRUE(ok(v->flush()));
        EXPECT_EQ(w->media(1), "8@20 af:4;");
    }
}

TEST_F(RtmpServiceTest, TooManyPlaysAreRefusedAndTheOthersGoOn) {
    start();
    auto a = running("live/a");
    auto v = player("live/a");
    constexpr uint32_t kMost = ::rtmp::ServerSession::kMaxStreams;
    for (uint32_t id = 2; id <= kMost; ++id) v->call_on(id, "play", {{}, "a"});
    EXPECT_EQ(v->media_of({kMost}, 4), fmt::format("{}: {}", kMost, kStart));
    v->call_on(2, "play", {{}, "a..b"});
    EXPECT_FALSE(v->hears("NetStream.Play.Failed")) << "an error status ends the test's client";
    // One more violates the protocol.
    auto w = player("live/a");
    for (uint32_t id = 2; id <= kMost + 1; ++id)
        ::rtmp::append_command(w->session().output(), 3, id, {"play", 0, {{}, "a"}}, 60000);
    ASSERT_TRUE(ok(w->flush()));
    EXPECT_EQ(w->read_to_end(), "closed");
    EXPECT_EQ(registry_.find({"__defaultVhost__", "live", "a"})->viewer_count(), kMost - 1);
}

TEST_F(RtmpServiceTest, AKickEndsAllThatAConnectionDoes) {
    start();
    auto a = running("live/a");
    auto v = player("live/a");
    v->call_on(2, "play", {{}, "a"});
    v->call_on(3, "publish", {{}, "b", "live"});
    v->media_of({1, 2}, 4);
    EXPECT_TRUE(v->hears("NetStream.Publish.Start"));
    sessions_.for_each([](net::Session& s) {
        if (s.stream_text() == "__defaultVhost__/live/b") s.kick("kicked by the test");
    });
    EXPECT_EQ(v->read_to_end(), "closed");
    EXPECT_EQ(sessions_.size(), 1u);
    EXPECT_FALSE(registry_.find({"__defaultVhost__", "live", "b"}));
}

TEST_F(RtmpServiceTest, StopsWithSeveralPlays) {
    start();
    auto v = player("live/a");
    v->call_on(2, "play", {{}, "b"});
    v->call_on(3, "publish", {{}, "c", "live"});
    EXPECT_TRUE(v->hears("NetStream.Publish.Start"));
    service_->stop();
    EXPECT_TRUE(service_->idle());
}

}  // namespace
}  // namespace service::rtmp

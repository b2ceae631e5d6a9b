#include "service/rtmp/service.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "live/fanout/live_log.h"
#include "protocol/rtmp/chunk_writer.h"
#include "runtime/loop/testing.h"
#include "service/rtmp/testing.h"

namespace service::rtmp {
namespace {

using runtime::testing::ok;
using testing::kAudioFrame;
using testing::kAudioHeader;
using testing::kInterFrame;
using testing::kKeyframe;
using testing::kStart;
using testing::kVideoHeader;
using testing::RtmpServiceTest;
using testing::TestClient;
using Bytes = std::vector<uint8_t>;

TEST_F(RtmpServiceTest, PublishAndPlay) {
    start();
    auto p = running();
    auto v = player();
    EXPECT_EQ(v->media(4), kStart);
    p->send(::rtmp::kVideo, 40, kInterFrame);
    EXPECT_EQ(v->media(1), "9@40 27:12;");
    EXPECT_EQ(sessions_.size(), 2u);
    std::string types;
    sessions_.for_each([&](net::Session& s) {
        types += net::session_type_name(s.type());
        EXPECT_EQ(s.stream_text(), "__defaultVhost__/live/s");
        EXPECT_GT(s.traffic().sent_bytes, 3073u);
        EXPECT_GT(s.traffic().received_bytes, 3073u);
    });
    EXPECT_NE(types.find("rtmp-play"), std::string::npos);
    EXPECT_NE(types.find("fmle-publish"), std::string::npos);
    p.reset();
    v.reset();
    EXPECT_TRUE(until_idle());
}

TEST_F(RtmpServiceTest, DigestHandshake) {
    start();
    auto c = client(true, "live/s");
    EXPECT_TRUE(ok(c->open(true)));
}

TEST_F(RtmpServiceTest, PlayerIsTheFirst) {
    start();
    auto v = player();
    auto p = running();
    EXPECT_EQ(v->media(4), kStart);
}

TEST_F(RtmpServiceTest, PlayerIsToldOfTheEnd) {
    start();
    auto p = running();
    auto v = player();
    v->media(4);
    p->session().close();
    ASSERT_TRUE(ok(p->flush()));
    p.reset();
    EXPECT_EQ(v->read_to_end(), "closed");
    EXPECT_NE(v->statuses().find("NetStream.Play.UnpublishNotify;NetStream.Play.Stop;"), std::string::npos);
    EXPECT_TRUE(until_idle());
}

TEST_F(RtmpServiceTest, SecondPublisherIsRefused) {
    start();
    auto first = running();
    auto second = client(true, "live/s");
    auto opened = second->open();
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().text().find("NetStream.Publish.BadName"), std::string::npos) << opened.error().text();
    first->send(::rtmp::kVideo, 40, kInterFrame);
    EXPECT_EQ(registry_.find({"__defaultVhost__", "live", "s"})->published(), true);
    // When a connection is closed, its name is free at once.
    first.reset();
    auto third = publisher();
}

TEST_F(RtmpServiceTest, Takeover) {
    vhost().publish.takeover = true;
    start();
    auto first = running();
    auto v = player();
    v->media(4);
    auto second = publisher();
    std::string said = first->read_to_end();
    EXPECT_NE(said.find("BadName"), std::string::npos) << said;
    send_start(*second, 5000);
    EXPECT_NE(v->media(4).find("17:12"), std::string::npos);
}

TEST_F(RtmpServiceTest, RefusesWithWords) {
    config::Vhost off = vhost();
    off.name = "off.example";
    off.enabled = false;
    snapshot_->vhosts.push_back(off);
    start();
    struct Row {
        const char* path;
        const char* says;
    };
    for (Row row : {Row{"live?vhost=off.example/s", "vhost off.example does not exist or is disabled"},
                    Row{"live/s?vhost=off.example", "vhost off.example does not exist or is disabled"},
                    Row{"live/a..b", "'..'"}}) {
        for (bool publish : {false, true}) {
            auto c = client(publish, row.path);
            auto opened = c->open();
            ASSERT_FALSE(opened) << row.path;
            EXPECT_NE(opened.error().text().find(row.says), std::string::npos) << opened.error().text();
            EXPECT_EQ(opened.error().code(), base::Code::kRefused);
            EXPECT_NE(c->read_to_end(), "");
        }
    }
    EXPECT_TRUE(until_idle());
}

TEST_F(RtmpServiceTest, VhostsAreSeparate) {
    config::Vhost other = vhost();
    other.name = "other.example";
    snapshot_->vhosts.push_back(other);
    start();
    auto a = publisher("live/s");
    auto b = publisher("live/s?vhost=other.example&token=1");
    EXPECT_EQ(registry_.size(), 2u);
    EXPECT_TRUE(registry_.find({"other.example", "live", "s"}));
    auto c = publisher("live/t?vhost=unknown.example");
    EXPECT_TRUE(registry_.find({"__defaultVhost__", "live", "t"}));
}

// rtmp://HOST/live/s?vhost=V where HOST is no vhost: publish and play decide, as the parameter says.
TEST_F(RtmpServiceTest, AVhostMayBeNamedByTheStreamAlone) {
    vhost().name = "v.example";
    start();
    auto p = running("live/s?vhost=v.example");
    EXPECT_TRUE(registry_.find({"v.example", "live", "s"})->published());
    auto v = player("live/s?vhost=v.example");
    EXPECT_EQ(v->media(4), kStart);
    for (bool publish : {false, true}) {
        auto c = client(publish, "live/s");
        auto opened = c->open();
        ASSERT_FALSE(opened);
        EXPECT_NE(opened.error().text().find(publish ? "publish was refused" : "play was refused"), std::string::npos);
        EXPECT_NE(opened.error().text().find("vhost 127.0.0.1 does not exist"), std::string::npos)
            << opened.error().text();
    }
    // Who asks about clients, and for no stream, is told at connect.
    TestClient asks(port(), false, "live/s", nullptr, true);
    auto opened = asks.open();
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().text().find("connect was refused"), std::string::npos) << opened.error().text();
    TestClient knows(port(), false, "live?vhost=v.example/s", nullptr, true);
    EXPECT_TRUE(ok(knows.open()));
}

TEST_F(RtmpServiceTest, SilentConnectionsAreClosed) {
    snapshot_->rtmp.handshake_timeout = 300;
    start();
    auto silent = client(true, "live/s");
    auto half = client(true, "live/s");
    ASSERT_TRUE(ok(half->write(Bytes(100, 3))));
    auto shaken = client(true, "live/s");
    ASSERT_TRUE(ok(shaken->handshake()));
    auto connected = client(true, "live/s");
    ASSERT_TRUE(ok(connected->handshake()));
    connected->session().start();
    ASSERT_TRUE(ok(connected->flush()));
    int64_t before = base::monotonic_ms();
    // Nothing is read before handshake_timeout: a client that reads the answer to its connect continues to publish.
    ASSERT_TRUE(runtime::sleep_ms(400));
    for (auto* c : {silent.get(), half.get(), shaken.get(), connected.get()}) EXPECT_EQ(c->read_to_end(), "closed");
    EXPECT_GE(base::monotonic_ms() - before, 200);
    EXPECT_LE(base::monotonic_ms() - before, 2000);
}

TEST_F(RtmpServiceTest, WhoNeverPublishesButKeepsTalkingIsClosed) {
    snapshot_->rtmp.handshake_timeout = 300;
    start();
    auto c = client(true, "live/s");
    ASSERT_TRUE(ok(c->handshake()));
    int64_t before = base::monotonic_ms();
    Bytes ping{2, 0, 0, 0, 0, 0, 6, 4, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1};
    while (base::monotonic_ms() - before < 3000 && c->write(ping)) (void)runtime::sleep_ms(20).has_value();
    EXPECT_LT(base::monotonic_ms() - before, 2000);
}

TEST_F(RtmpServiceTest, FrozenPublishersAreClosedAndTheirNamesFree) {
    vhost().publish.firstpkt_timeout = 200;
    vhost().publish.normal_timeout = 400;
    start();
    auto nothing = publisher("live/a");
    auto some = running("live/b");
    int64_t before = base::monotonic_ms();
    EXPECT_EQ(nothing->read_to_end(), "closed");
    EXPECT_LT(base::monotonic_ms() - before, 390);
    EXPECT_EQ(some->read_to_end(), "closed");
    EXPECT_GE(base::monotonic_ms() - before, 390);
    EXPECT_EQ(registry_.size(), 0u);
}

TEST_F(RtmpServiceTest, PublisherWithoutViewersIsClosedWhereConfigured) {
    vhost().publish.kickoff_for_idle = 1;
    start();
    auto p = publisher();
    int64_t before = base::monotonic_ms();
    uint32_t t = 0;
    send_start(*p);
    while (base::monotonic_ms() - before < 4000 && !p->socket().peer_gone()) {
        p->session().send_media(::rtmp::kVideo, t += 40, {}, kInterFrame);
        if (!p->flush()) break;
        (void)runtime::sleep_ms(40).has_value();
    }
    EXPECT_GE(base::monotonic_ms() - before, 900);
    EXPECT_LT(base::monotonic_ms() - before, 3000);
}

TEST_F(RtmpServiceTest, BadInputHurtsNobodyElse) {
    start();
    auto p = running();
    auto v = player();
    v->media(4);
    const Bytes chunk_size_0{2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0};
    for (const Bytes& bad : {Bytes{0xc9, 1, 2, 3}, chunk_size_0, Bytes(1000, 0xff)}) {
        auto c = client(true, "live/other");
        ASSERT_TRUE(ok(c->handshake()));
        ASSERT_TRUE(ok(c->write(bad)));
        EXPECT_NE(c->read_to_end(), "");
        auto bad_viewer = player();
        ASSERT_TRUE(ok(bad_viewer->write(bad)));
        EXPECT_NE(bad_viewer->read_to_end(), "");
        auto bad_publisher = publisher("live/other");
        ASSERT_TRUE(ok(bad_publisher->write(bad)));
        EXPECT_NE(bad_publisher->read_to_end(), "");
    }
    p->send(::rtmp::kVideo, 40, kInterFrame);
    EXPECT_EQ(v->media(1), "9@40 27:12;");
}

TEST_F(RtmpServiceTest, PauseAndResume) {
    start();
    auto p = running();
    auto v = player();
    v->media(4);
    v->call("pause", {{}, true, 0});
    EXPECT_TRUE(v->hears("NetStream.Pause.Notify"));
    p->send(::rtmp::kVideo, 40, kInterFrame);
    (void)runtime::sleep_ms(50).has_value();
    v->call("pause", {{}, false, 0});
    EXPECT_TRUE(v->hears("NetStream.Unpause.Notify"));
    EXPECT_NE(v->media(4).find("9@40 27:12;"), std::string::npos);
}

TEST_F(RtmpServiceTest, ReceiveAudioOff) {
    start();
    auto p = running();
    auto v = player();
    v->media(4);
    v->call("receiveAudio", {{}, false});
    v->call("getStreamLength", {{}, "s"}, 9);
    (void)runtime::sleep_ms(50).has_value();
    v->media(0);
    p->send(::rtmp::kAudio, 50, kAudioFrame);
    p->send(::rtmp::kVideo, 60, kKeyframe);
    std::string got;
    for (int i = 0; i < 10 && got.find("9@60 17:12;") == std::string::npos; ++i) got += v->media(1);
    EXPECT_NE(got.find("9@60 17:12;"), std::string::npos) << got;
    EXPECT_EQ(got.find("8@50"), std::string::npos) << got;
}

TEST_F(RtmpServiceTest, DurationOfPlay) {
    start();
    auto p = running();
    auto v = client(false, "live/none");
    ASSERT_TRUE(ok(v->open()));
    v->call("closeStream", {{}});
    v->call("play", {{}, "s", -1000, 100});
    (void)runtime::sleep_ms(50).has_value();
    for (uint32_t t = 40; t <= 400; t += 40) p->send(::rtmp::kVideo, t, kInterFrame);
    EXPECT_EQ(v->read_to_end(), "closed");
    EXPECT_NE(v->statuses().find("NetStream.Play.Stop"), std::string::npos);
}

TEST_F(RtmpServiceTest, Kick) {
    start();
    auto p = running();
    auto v = player();
    v->media(4);
    sessions_.for_each([](net::Session& s) { s.kick("kicked by the test"); });
    EXPECT_EQ(p->read_to_end(), "closed");
    EXPECT_EQ(v->read_to_end(), "closed");
    EXPECT_TRUE(until_idle());
}

TEST_F(RtmpServiceTest, StopsWithEveryKindOfClient) {
    start();
    auto p = running();
    auto v = player();
    auto waiting = player("live/later");
    auto silent = client(true, "x/y");
    (void)runtime::sleep_ms(20).has_value();
    EXPECT_FALSE(service_->idle());
    service_->stop();
    EXPECT_TRUE(service_->idle());
}

TEST_F(RtmpServiceTest, ConnectionsAreLimited) {
    sessions_.admission().set_options({2, {}});
    start();
    auto a = publisher("live/a");
    auto b = publisher("live/b");
    auto c = client(true, "live/c");
    EXPECT_FALSE(c->open());
    EXPECT_EQ(sessions_.admission().refused_total(), 1u);
}

TEST_F(RtmpServiceTest, WhoHasNotConnectedMakesRoom) {
    start();
    net::Admission& admission = sessions_.admission();
    auto silent = client(true, "live/a");
    auto p = running();
    EXPECT_EQ(admission.embryonic().size(), 1u);
    EXPECT_EQ(admission.connections(), 2u);
    EXPECT_TRUE(admission.embryonic().evict_one(base::monotonic_ms(), 0));
    EXPECT_EQ(admission.connections(), 1u);
    EXPECT_FALSE(silent->open());
    EXPECT_EQ(sessions_.closed().newest(0).reason, base::CloseReason::kRefusedLimit);
    EXPECT_EQ(player()->media(4), kStart);
}

TEST_F(RtmpServiceTest, WithoutACoroutineAConnectionEnds) {
    start();
    auto p = running();
    auto v = player();
    EXPECT_EQ(v->media(4), kStart);
    (void)runtime::sleep_ms(20).has_value();  // the player's coroutine has ended
    runtime::limit_coroutines(runtime::coroutine_count());
    auto c = client(false, "live/s");
    EXPECT_FALSE(c->open());
    EXPECT_EQ(service_->connections(), 2u);
    // A player's next command needs a coroutine, as does its end, which is processed with the next one's.
    v->session().close();
    ASSERT_TRUE(ok(v->flush()));
    (void)runtime::sleep_ms(20).has_value();
    runtime::limit_coroutines(SIZE_MAX);
    EXPECT_EQ(player()->media(4), kStart);
    for (int i = 0; i < 100 && service_->connections() > 1; ++i) (void)runtime::sleep_ms(10).has_value();
    EXPECT_EQ(service_->connections(), 1u);
}

TEST_F(RtmpServiceTest, ManyComeAndGo) {
    start();
    auto p = running();
    for (uint32_t i = 0; i < 100; ++i) {
        p->send(::rtmp::kVideo, 40 * i + 40, kInterFrame);  // on a slow machine it is silent for too long otherwise
        auto v = player();
        if (i % 2) v->media(4);
        auto another = publisher("live/t");
        if (i % 3) continue;
        another->session().close();
        ASSERT_TRUE(ok(another->flush()));
    }
    for (int i = 0; i < 200 && service_->connections() > 1; ++i) (void)runtime::sleep_ms(10).has_value();
    EXPECT_EQ(service_->connections(), 1u);
}

TEST_F(RtmpServiceTest, EveryEndHasItsReason) {
    snapshot_->rtmp.handshake_timeout = 300;
    vhost().publish.normal_timeout = 300;
    start();
    size_t seen = 0;
    // The next session that ends: "type reason".
    const auto next = [&]() -> std::string {
        for (int i = 0; i < 300 && sessions_.closed().size() <= seen; ++i) (void)runtime::sleep_ms(10).has_value();
        if (sessions_.closed().size() <= seen) return "nobody ended";
        const net::ClosedSession& closed = sessions_.closed().newest(sessions_.closed().size() - 1 - seen++);
        EXPECT_FALSE(closed.text.empty());
        EXPECT_EQ(closed.ip, "127.0.0.1");
        return fmt::format("{} {}", session_type_name(closed.type), base::close_reason_name(closed.reason));
    };
    auto silent = client(true, "live/s");
    EXPECT_EQ(next(), "rtmp peer-timeout");
    auto p = running();
    auto v = player();
    v->media(4);
    v.reset();
    EXPECT_EQ(next(), "rtmp-play peer-closed");
    auto busy = client(true, "live/s");
    EXPECT_FALSE(busy->open());
    busy.reset();
    EXPECT_EQ(next(), "fmle-publish refused-busy");
    p.reset();
    EXPECT_EQ(next(), "fmle-publish peer-closed");
    p = running();
    v = player();
    v->media(4);
    EXPECT_EQ(next(), "fmle-publish peer-timeout");  // it sends nothing more
    EXPECT_EQ(next(), "rtmp-play stream-ended");
    p = running();
    v = player();
    v->media(4);
    sessions_.for_each([](net::Session& s) {
        if (s.type() == net::SessionType::kRtmpPlay) s.kick("by the operator");
    });
    EXPECT_EQ(next(), "rtmp-play kicked");
    sessions_.for_each([](net::Session& s) { s.kick("by the operator"); });
    EXPECT_EQ(next(), "fmle-publish kicked");
    v = player();
    service_->stop();
    EXPECT_EQ(next(), "rtmp-play server-stop");
    EXPECT_EQ(sessions_.closed().errors(), 3u);
}

}  // namespace
}  // namespace service::rtmp

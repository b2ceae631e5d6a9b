#include "service/http_live/service.h"

#include <gtest/gtest.h>

#include "live/hub/testing.h"
#include "media/aac.h"
#include "net/http/http_server.h"
#include "net/http/http_testing.h"
#include "protocol/flv/reader.h"
#include "protocol/websocket/frame.h"
#include "runtime/loop/testing.h"
#include "service/http_live/config.h"

namespace service::http_live {
namespace {

using live::testing::audio;
using live::testing::header;
using live::testing::video;
using media::Kind;
using net::testing::RawClient;
using runtime::testing::ok;

class Owner : public live::PublicationOwner {
  public:
    bool publisher_alive() const override { return true; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
};

class HttpLiveTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        vhost().get<VhostConfig>().enabled = true;
        vhost().get<VhostConfig>().wait_publisher = false;
        vhost().play.mw_latency = 0;
        vhost().play.rejoin_timeout = 300;
        registry_.start();
        server_ = std::make_unique<net::HttpServer>(sessions_, router_, net::HttpServerOptions{});
        service_ = std::make_unique<Service>(snapshot_, sessions_, registry_, router_, gate_, offers_);
        ASSERT_TRUE(ok(server_->listen({"127.0.0.1", 0})));
    }
    void TearDown() override {
        publication_.end();
        server_.reset();
        service_.reset();
        EXPECT_EQ(sessions_.size(), 0u);
        for (int i = 0; i < 10 && registry_.size() > 0; ++i) (void)runtime::sleep_ms(10).has_value();
        EXPECT_EQ(registry_.size(), 0u);
        registry_.stop();
    }
    config::Vhost& vhost() { return snapshot_->vhosts.front(); }

    void publish(std::string vhost_name = "__defaultVhost__") {
        auto stream = registry_.find_or_create({std::move(vhost_name), "live", "a"}, live::live_options(vhost()));
        publication_ = stream->acquire(owner_, false).value();
        publication_.publish(header(Kind::kVideo, "avcC"));
        publication_.publish(header(Kind::kAudio, "\x12\x10"));
        publication_.publish(video(0, true, "key"));
        publication_.publish(audio(10, "sound"));
    }
    // Sends a request with these fields and reads the response's head; the rest stays unread.
    std::unique_ptr<RawClient> get(std::string_view target, std::string_view fields = "") {
        auto client = std::make_unique<RawClient>(server_->port());
        client->send("GET " + std::string(target) + " HTTP/1.1\r\nHost: a.example\r\n" + std::string(fields) + "\r\n");
        head_.clear();
        while (!head_.ends_with("\r\n\r\n")) {
            std::string byte = client->read_bytes(1);
            if (byte.empty()) break;
            head_ += byte;
        }
        status_ = head_.size() > 12 ? std::stoi(head_.substr(9, 3)) : 0;
        return client;
    }
    static constexpr std::string_view kUpgrade =
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    // "V0 avcC;A0 ..;" for the next n tags.
    std::string tags(RawClient& client, int n) {
        std::string seen;
        flv::Reader reader;
        while (n > 0) {
            std::string byte = client.read_bytes(1, 1000);
            if (byte.empty()) return seen + "timeout";
            reader.feed(std::span(reinterpret_cast<const uint8_t*>(byte.data()), 1));
            auto tag = reader.next();
            if (!tag) return seen + tag.error().text();
            if (!*tag) continue;
            size_t skip = (*tag)->type == 9 ? 5 : (*tag)->type == 8 ? 2 : 0;
            seen += ((*tag)->type == 9   ? "V"
                     : (*tag)->type == 8 ? "A"
                                         : "D") +
                    std::to_string((*tag)->timestamp) + " " + std::string((*tag)->body.sub(skip).text()) + ";";
            --n;
        }
        return seen;
    }
    // The payload of the next WebSocket frame.
    std::string message(RawClient& client, uint8_t first = 0x82) {
        std::string head = client.read_bytes(2, 1000);
        if (head.size() < 2) return "timeout";
        EXPECT_EQ(static_cast<uint8_t>(head[0]), first);
        size_t n = static_cast<uint8_t>(head[1]);
        EXPECT_LT(n, 126u);
        return client.read_bytes(n);
    }

    std::shared_ptr<config::Snapshot> snapshot_;
    net::SessionTable sessions_;
    live::Registry registry_;
    net::Gate gate_;
    net::HttpRouter router_;
    std::unique_ptr<net::HttpServer> server_;
    Offers offers_;
    std::unique_ptr<Service> service_;
    Owner owner_;
    live::Publication publication_;
    std::string head_;
    int status_ = 0;
};

TEST_F(HttpLiveTest, PlaysFlv) {
    publish();
    auto client = get("/live/a.flv");
    EXPECT_EQ(status_, 200);
    EXPECT_NE(head_.find("Content-Type: video/x-flv\r\n"), std::string::npos);
    EXPECT_NE(head_.find("Connection: close\r\n"), std::string::npos);
    EXPECT_NE(head_.find("Access-Control-Allow-Origin: *\r\n"), std::string::npos);
    EXPECT_NE(head_.find("no-cache"), std::string::npos);
    EXPECT_EQ(head_.find("Content-Length: "), std::string::npos);
    EXPECT_EQ(head_.find("Transfer-Encoding: "), std::string::npos);
    publication_.publish(video(40, false, "next"));
    publication_.publish(audio(50, "end"));
    publication_.publish(video(80, false, "last"));
    EXPECT_EQ(tags(*client, 7), "V0 avcC;A0 \x12\x10;V0 key;A10 sound;V40 next;A50 end;V80 last;");
    ASSERT_EQ(sessions_.size(), 1u) << "the request and the viewer are one client";
    sessions_.for_each([](net::Session& session) {
        EXPECT_EQ(session.type(), net::SessionType::kFlvPlay);
        EXPECT_EQ(session.stream_text(), "__defaultVhost__/live/a");
        EXPECT_GT(session.traffic().sent_bytes, 100u);
    });
    EXPECT_EQ(server_->connections(), 0u);
    EXPECT_EQ(service_->viewers(), 1u);
    client->close();
    for (int i = 0; i < 50 && service_->viewers() > 0; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(10)));
    EXPECT_EQ(service_->viewers(), 0u);
}

TEST_F(HttpLiveTest, TheStreamEnds) {
    publish();
    auto plain = get("/live/a.flv"), websocket = get("/live/a.flv", kUpgrade);
    EXPECT_EQ(tags(*plain, 4).substr(0, 3), "V0 ");
    for (int i = 0; i < 3; ++i) message(*websocket);
    publication_.end();
    EXPECT_TRUE(plain->sees_close(2000));
    EXPECT_EQ(message(*websocket, 0x88), "\x03\xe8the stream ended");
    EXPECT_TRUE(websocket->sees_close(2000));
}

TEST_F(HttpLiveTest, PlaysByWebSocket) {
    publish();
    auto client = get("/live/a.flv", kUpgrade);
    EXPECT_EQ(status_, 101);
    EXPECT_NE(head_.find("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), std::string::npos);
    EXPECT_TRUE(message(*client).starts_with("FLV\x01\x05"));
    EXPECT_NE(message(*client).find("key"), std::string::npos);
    EXPECT_NE(message(*client).find("sound"), std::string::npos);
    client->send(std::string("\x89\x84\0\0\0\0ping", 10));
    EXPECT_EQ(message(*client, 0x8a), "ping");
    client->send(std::string("\x81\x82\0\0\0\0hi", 8));
    publication_.publish(video(40, false, "next"));
    EXPECT_NE(message(*client).find("next"), std::string::npos);
    client->send(std::string("\x88\x82\0\0\0\0\x03\xe9", 8));
    EXPECT_EQ(message(*client, 0x88), "\x03\xe9");
    EXPECT_TRUE(client->sees_close(2000));
}

// What is published meanwhile must not follow the Close (RFC 6455, 5.5.1), nor must a second one.
TEST_F(HttpLiveTest, NothingFollowsTheCloseOfAWebSocket) {
    vhost().play.mw_latency = 10'000;
    publish();
    auto closing = get("/live/a.flv", kUpgrade), stopped = get("/live/a.flv", kUpgrade);
    for (int i = 0; i < 3; ++i) message(*closing), message(*stopped);
    publication_.publish(video(40, false, "unsent"));
    const std::string close("\x88\x82\0\0\0\0\x03\xe8", 8);
    closing->send(close + std::string("\x89\x84\0\0\0\0ping", 10));
    EXPECT_EQ(message(*closing, 0x88), "\x03\xe8");
    EXPECT_EQ(closing->read_bytes(1, 1000), "");
    EXPECT_TRUE(closing->sees_close(2000));
    publication_.publish(video(80, false, "unsent"));
    service_->stop();
    std::string last;
    for (std::string byte = stopped->read_bytes(1, 1000); !byte.empty(); byte = stopped->read_bytes(1, 1000))
        last += byte;
    EXPECT_TRUE(last.ends_with("\x88\x12\x03\xe9the server stops")) << last;
}

TEST_F(HttpLiveTest, BadWebSockets) {
    publish();
    auto client = get("/live/a.flv", kUpgrade);
    for (int i = 0; i < 3; ++i) message(*client);
    client->send("not a frame");
    EXPECT_EQ(message(*client, 0x88).substr(0, 2), "\x03\xea");
    EXPECT_TRUE(client->sees_close(2000));
    get("/live/a.flv", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n");
    EXPECT_EQ(status_, 426);
    get("/live/a.flv", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
    EXPECT_EQ(status_, 400);
    get("/live/none.flv", kUpgrade);
    EXPECT_EQ(status_, 404);
}

TEST_F(HttpLiveTest, PlaysAudioAlone) {
    publish();
    auto client = get("/live/a.aac");
    EXPECT_EQ(status_, 200);
    EXPECT_NE(head_.find("Content-Type: audio/aac\r\n"), std::string::npos);
    std::string bytes = client->read_bytes(12);
    auto adts = media::parse_adts(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
    ASSERT_TRUE(adts);
    EXPECT_EQ(adts->frame_size, 12u);
    EXPECT_TRUE(bytes.ends_with("sound"));
    get("/live/a.mp3");
    EXPECT_EQ(status_, 404);
}

TEST_F(HttpLiveTest, PlaysMpegTs) {
    publish();  // its video configuration is invalid, so only audio is sent
    auto client = get("/live/a.ts");
    EXPECT_EQ(status_, 200);
    EXPECT_NE(head_.find("Content-Type: video/mp2t\r\n"), std::string::npos);
    std::string bytes = client->read_bytes(3 * 188);
    ASSERT_EQ(bytes.size(), 3u * 188);
    EXPECT_EQ(bytes.substr(0, 3), std::string("\x47\x40\x00", 3));
    EXPECT_EQ(bytes.substr(188, 3), std::string("\x47\x50\x00", 3));
    EXPECT_EQ(bytes.substr(376, 3), "\x47\x41\x01");
    EXPECT_TRUE(bytes.ends_with("sound"));
    publication_.publish(audio(40, "more"));
    EXPECT_TRUE(client->read_bytes(188).ends_with("more"));
    auto websocket = get("/live/a.ts", kUpgrade);
    EXPECT_EQ(status_, 101);
}

TEST_F(HttpLiveTest, MpegTsWithoutItsCodec) {
    auto stream = registry_.find_or_create({"__defaultVhost__", "live", "a"}, live::live_options(vhost()));
    publication_ = stream->acquire(owner_, false).value();
    media::Frame frame = video(0, true, "key");
    frame.codec = media::Codec::kVp9;
    publication_.publish(frame);
    get("/live/a.ts");
    EXPECT_EQ(status_, 404);
    auto client = get("/live/a.flv");
    EXPECT_EQ(status_, 200);
}

TEST_F(HttpLiveTest, NoSuchStream) {
    for (auto path : {"/live/a.flv", "/live/a.aac", "/live/a.ts", "/live/a.html", "/a.flv"}) {
        get(path);
        EXPECT_EQ(status_, 404) << path;
    }
    vhost().get<VhostConfig>().enabled = false;
    publish();
    get("/live/a.flv");
    EXPECT_EQ(status_, 404);
    EXPECT_EQ(service_->viewers(), 0u);
}

class HttpWaitingTest : public HttpLiveTest {
  protected:
    void SetUp() override {
        HttpLiveTest::SetUp();
        vhost().get<VhostConfig>().wait_publisher = true;
        vhost().get<VhostConfig>().wait_publisher_timeout = 5'000;
        limit_waiting(2, 3);
    }
    const net::AddressQuota& waiting() { return sessions_.waiting(); }
    void limit_waiting(size_t of_address, size_t in_all) {
        sessions_.waiting().set_limits({.of_address = of_address, .in_all = in_all});
    }
    std::unique_ptr<RawClient> ask(std::string_view target, std::string_view fields = "") {
        auto client = std::make_unique<RawClient>(server_->port());
        client->send(fmt::format("GET {} HTTP/1.1\r\nHost: a.example\r\n{}\r\n", target, fields));
        return client;
    }
    void await_waiting(size_t count) {
        for (int i = 0; i < 200 && waiting().count() != count; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(10)));
        EXPECT_EQ(waiting().count(), count);
    }
};

TEST_F(HttpWaitingTest, APlayerWaitsForItsPublisher) {
    auto client = ask("/live/a.flv"), other = ask("/live/other.flv");
    await_waiting(2);
    EXPECT_EQ(client->read_bytes(1, 50), "");
    publish();
    EXPECT_EQ(client->read(true).status, 200);
    EXPECT_EQ(tags(*client, 4), "V0 avcC;A0 \x12\x10;V0 key;A10 sound;");
    EXPECT_EQ(waiting().count(), 1u) << "the other stream's player still waits";
    EXPECT_EQ(service_->viewers(), 1u);
}

TEST_F(HttpWaitingTest, AWebSocketWaitsToo) {
    auto client = ask("/live/a.flv", kUpgrade);
    await_waiting(1);
    publish();
    EXPECT_TRUE(client->read_bytes(12).ends_with(" 101"));
}

TEST_F(HttpWaitingTest, ItDoesNotWaitForEver) {
    vhost().get<VhostConfig>().wait_publisher_timeout = 100;
    auto client = ask("/live/a.flv");
    const auto answer = client->read();
    EXPECT_EQ(answer.status, 404);
    EXPECT_NE(answer.body.find("the stream is not published"), std::string::npos);
    EXPECT_EQ(waiting().count(), 0u);
    client->send("GET /live/b.html HTTP/1.1\r\nHost: a.example\r\n\r\n");
    EXPECT_EQ(client->read().status, 404) << "the connection stays open";
    EXPECT_EQ(registry_.size(), 0u) << "no stream is created";
}

TEST_F(HttpWaitingTest, SoManyWaitAndNoMore) {
    auto first = ask("/live/x.flv"), second = ask("/live/y.flv");
    await_waiting(2);
    EXPECT_EQ(ask("/live/z.flv")->read().status, 404) << "limit per address";
    EXPECT_EQ(waiting().counters().refused_address, 1u);
    limit_waiting(0, 2);
    EXPECT_EQ(ask("/live/z.flv")->read().status, 404) << "total limit";
    EXPECT_EQ(waiting().counters().refused_all, 1u);
    publish();
    EXPECT_EQ(ask("/live/a.flv")->read(true).status, 200) << "a player that need not wait is accepted";
    first->close();
    await_waiting(1);
    auto again = ask("/live/z.flv");
    await_waiting(2);
}

TEST_F(HttpWaitingTest, WhoLeavesWaitsNoMore) {
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 2; ++i) clients.push_back(ask("/live/a.flv"));
    await_waiting(2);
    clients.clear();
    await_waiting(0);
    publish();
    EXPECT_EQ(service_->viewers(), 0u);
}

TEST_F(HttpWaitingTest, NobodyWaitsWhenTheServerEnds) {
    auto client = ask("/live/a.flv");
    await_waiting(1);
    service_->stop_accepting();
    EXPECT_EQ(client->read().status, 404);
}

TEST_F(HttpWaitingTest, WhatMayBeASegmentDoesNotWait) {
    offers_.segments.push_back(
        {"hls", {}, [](const config::Vhost&, std::string_view path) { return path == "/live/a-7.ts"; }});
    get("/live/a-7.ts");
    EXPECT_EQ(status_, 404);
    auto client_of_ts = ask("/live/a.ts");
    await_waiting(1);
    client_of_ts->close();
    await_waiting(0);
    RawClient client(server_->port());
    client.send("HEAD /live/a.flv HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.read(true).status, 404) << "nor does a HEAD request";
    EXPECT_EQ(waiting().count(), 0u);
}

TEST_F(HttpLiveTest, APublisherComesBack) {
    publish();
    auto client = get("/live/a.flv");
    EXPECT_EQ(tags(*client, 4), "V0 avcC;A0 \x12\x10;V0 key;A10 sound;");
    publication_.end();
    auto another = get("/live/a.flv");
    EXPECT_EQ(status_, 200);
    publish();
    EXPECT_TRUE(tags(*another, 3).ends_with("key;"));
    EXPECT_EQ(service_->viewers(), 2u);
}

TEST_F(HttpLiveTest, Head) {
    publish();
    RawClient client(server_->port());
    client.send("HEAD /live/a.flv HTTP/1.1\r\nHost: a\r\n\r\n");
    auto answer = client.read(true);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Content-Type"), "video/x-flv");
    EXPECT_TRUE(client.sees_close());
    EXPECT_EQ(service_->viewers(), 0u);
}

TEST_F(HttpLiveTest, Vhosts) {
    config::Vhost other = vhost();
    other.name = "b.example";
    snapshot_->vhosts.push_back(other);
    publish("b.example");
    get("/live/a.flv");
    EXPECT_EQ(status_, 404);
    auto by_parameter = get("/live/a.flv?vhost=b.example");
    EXPECT_EQ(status_, 200);
    auto by_domain = get("/live/a.flv?domain=b.example");
    EXPECT_EQ(status_, 200);
    RawClient client(server_->port());
    client.send("GET /live/a.flv HTTP/1.1\r\nHost: B.example:8080\r\n\r\n");
    EXPECT_TRUE(client.read_bytes(12).ends_with(" 200"));
}

TEST_F(HttpLiveTest, KicksAndFloods) {
    publish();
    auto kicked = get("/live/a.flv"), flooding = get("/live/a.flv");
    EXPECT_EQ(sessions_.size(), 2u);
    flooding->send(std::string(100'000, 'x'));
    EXPECT_TRUE(flooding->sees_close(2000));
    EXPECT_EQ(sessions_.size(), 1u);
    sessions_.for_each([](net::Session& session) { session.kick("by the test"); });
    EXPECT_TRUE(kicked->sees_close(2000));
    EXPECT_EQ(sessions_.size(), 0u);
}

TEST_F(HttpLiveTest, AViewerIsSmall) {
    // Not counting its socket and the session table's entry.
    EXPECT_LE(sizeof(LiveViewer), 500u);
    RecordProperty("bytes", static_cast<int>(sizeof(LiveViewer)));
}

}  // namespace
}  // namespace service::http_live

// ClientSession, against ServerSession.

#include "protocol/rtmp/client_session.h"

#include <gtest/gtest.h>

#include "protocol/amf/amf0.h"
#include "protocol/rtmp/chunk_writer.h"
#include "protocol/rtmp/server_testing.h"

namespace rtmp {
namespace {

using Bytes = std::vector<uint8_t>;
using testing::Server;

struct Client : ClientHandler {
    std::string log;
    std::vector<Message> media;
    void on_ready() override { log += "ready;"; }
    base::Result<void> on_media(Message& m) override {
        media.push_back(std::move(m));
        return {};
    }
    void on_status(std::string_view code, std::string_view) override { log += std::string(code) + ";"; }
};

struct Pair {
    Client client;
    Server server;
    ClientSession session;
    Pair(bool publish, uint32_t chunk_size)
        : session(client, *parse_url("rtmp://127.0.0.1:19350/live/s?k=v"),
                  {.publish = publish, .chunk_size = chunk_size, .forward_path = publish ? "a,b" : ""}, 3073) {
        server.chunk_size = chunk_size;
        session.start();
    }
    base::Result<void> pump() {
        for (int i = 0; i < 20; ++i) {
            Bytes up = std::exchange(session.output(), {});
            auto n = server.session.feed(up);
            EXPECT_TRUE(n && *n == up.size());
            Bytes down = server.session.take_output();
            TRY(session.feed(down));
            if (up.empty() && down.empty()) break;
        }
        return {};
    }
};

TEST(RtmpClientSession, Publishes) {
    for (uint32_t chunk_size : {16u, 128u, 60000u}) {
        Pair p(true, chunk_size);
        ASSERT_TRUE(p.pump());
        EXPECT_TRUE(p.session.ready());
        EXPECT_EQ(p.client.log, "ready;");
        EXPECT_EQ(p.server.connected.tc_url, "rtmp://127.0.0.1:19350/live");
        EXPECT_TRUE(p.server.connected.enhanced);
        EXPECT_TRUE(p.server.connected.multitrack);
        EXPECT_TRUE(p.session.peer_multitrack());
        EXPECT_EQ(p.server.connected.forward_path, "a,b");
        Bytes body(300, 5);
        p.session.send_media(kVideo, 0x1000000, std::span(body).first(5), body);
        ASSERT_TRUE(p.pump());
        p.session.close();
        ASSERT_TRUE(p.pump());
        EXPECT_EQ(p.server.log, "connect live;publish s?k=v live 0;media 9;close;");
        EXPECT_EQ(p.server.media[0].payload.size(), 305u);
        EXPECT_EQ(p.server.media[0].timestamp, 0x1000000u);
    }
}

TEST(RtmpClientSession, Plays) {
    Pair p(false, 4096);
    ASSERT_TRUE(p.pump());
    EXPECT_EQ(p.client.log, "NetStream.Play.Reset;ready;");
    EXPECT_EQ(p.client.media.size(), 1u);  // |RtmpSampleAccess
    Bytes down, body(9000, 1);
    append_message(down, 6, kVideo, 1, 7, body, 4096);
    ASSERT_TRUE(p.session.feed(down));
    EXPECT_EQ(p.client.media.size(), 2u);
    p.server.session.end_play();
    ASSERT_TRUE(p.pump());
    EXPECT_EQ(p.client.log, "NetStream.Play.Reset;ready;NetStream.Play.UnpublishNotify;NetStream.Play.Stop;");
}

TEST(RtmpClientSession, LearnsThePathOfAStream) {
    Client client;
    Server server;
    ClientSession session(client, *parse_url("rtmp://a/live/s"), {.forward_path = "x"}, 3073);
    server.path = "a,b";
    session.start();
    for (int i = 0; i < 6; ++i) {
        Bytes up = std::exchange(session.output(), {});
        ASSERT_TRUE(server.session.feed(up));
        ASSERT_TRUE(session.feed(server.session.take_output()));
    }
    ASSERT_TRUE(session.ready());
    EXPECT_EQ(server.connected.forward_path, "x");
    EXPECT_EQ(session.peer_path(), "a,b");
}

TEST(RtmpClientSession, IsSentToAnotherServer) {
    Client client;
    Server server;
    ClientSession session(client, *parse_url("rtmp://a/live/s"), {}, 3073);
    server.location = "rtmp://b:1936/live/s?token=a/b";
    session.start();
    Bytes down;
    base::Result<void> fed;
    for (int i = 0; i < 6 && fed; ++i) {
        Bytes up = std::exchange(session.output(), {});
        ASSERT_TRUE(server.session.feed(up));
        down = server.session.take_output();
        fed = session.feed(down);
    }
    ASSERT_FALSE(fed);
    EXPECT_EQ(fed.error().code(), base::Code::kRefused);
    EXPECT_EQ(session.location(), server.location);
    const std::string text(down.begin(), down.end());
    EXPECT_NE(text.find(std::string("\0\x08redirect\x02\0\x12rtmp://b:1936/live", 31)), std::string::npos)
        << "the tcUrl for clients that know redirect alone";
}

TEST(RtmpClientSession, IsRefused) {
    for (bool publish : {false, true}) {
        Pair p(publish, 4096);
        p.server.refuse = true;
        auto r = p.pump();
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error().code(), base::Code::kRefused);
        EXPECT_EQ(r.error().text(), "connect was refused: NetConnection.Connect.Rejected (no)");
    }
}

struct LocationCase {
    const char* name;
    amf::Value ex;
    const char* location;
};

TEST(RtmpClientSession, LearnsWhereItIsSent) {
    const LocationCase cases[] = {
        {"the stream", amf::Value::object({{"code", 302}, {"redirect", "rtmp://b/x"}, {"redirect2", "rtmp://b/x/y?k"}}),
         "rtmp://b/x/y?k"},
        {"its tcUrl", amf::Value::object({{"code", 302}, {"redirect", "rtmp://b:1936/x"}}), "rtmp://b:1936/x/s?k=v"},
        {"another code", amf::Value::object({{"code", 303}, {"redirect", "rtmp://b/x"}}), ""},
        {"no address", amf::Value::object({{"code", 302}}), ""},
        {"no object", amf::Value("rtmp://b/x"), ""},
    };
    for (const LocationCase& c : cases) {
        for (const char* name : {"_error", "onStatus"}) {
            Client client;
            ClientSession session(client, *parse_url("rtmp://a/live/s?k=v"), {}, 3073);
            session.start();
            auto information = amf::Value::object({{"level", "error"}, {"code", "NetConnection.Connect.Rejected"}});
            information.set("ex", c.ex);
            Command answer{name, 1, {}};
            answer.arguments.emplace_back();
            answer.arguments.push_back(std::move(information));
            Bytes down;
            append_command(down, 3, 0, answer, kDefaultChunkSize);
            auto fed = session.feed(down);
            ASSERT_FALSE(fed) << c.name;
            EXPECT_EQ(fed.error().code(), base::Code::kRefused) << c.name;
            EXPECT_EQ(session.location(), c.location) << c.name << ", " << name;
        }
    }
}

TEST(RtmpClientSession, ShowsAClientsConnect) {
    Client client;
    Server server;
    ClientOptions options{.connect_only = true};
    options.tc_url = "rtmp://edge/live?token=t";
    options.page_url = "http://page/";
    options.swf_url = "http://swf/";
    options.arguments = amf::Value::object({{"srs_id", "x"}});
    ClientSession session(client, *parse_url("rtmp://origin/live/s"), options, 3073);
    session.start();
    for (int i = 0; i < 4; ++i) {
        Bytes up = std::exchange(session.output(), {});
        ASSERT_TRUE(server.session.feed(up));
        ASSERT_TRUE(session.feed(server.session.take_output()));
    }
    EXPECT_TRUE(session.ready());
    EXPECT_EQ(server.log, "connect live;") << "nothing is asked for beyond connect";
    EXPECT_EQ(server.connected.tc_url, "rtmp://edge/live?token=t");
    EXPECT_EQ(server.connected.page_url, "http://page/");
    EXPECT_EQ(server.connected.swf_url, "http://swf/");
    session.close();
    EXPECT_TRUE(session.output().empty());
}

}  // namespace
}  // namespace rtmp

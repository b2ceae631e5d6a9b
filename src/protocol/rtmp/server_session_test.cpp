// ServerSession, with the input of real and malicious clients.

#include <gtest/gtest.h>

#include "protocol/amf/amf0.h"
#include "protocol/rtmp/chunk_writer.h"
#include "protocol/rtmp/server_testing.h"

namespace rtmp {
namespace {

using Bytes = std::vector<uint8_t>;
using amf::Value;
using testing::Server;

// The commands that the server has sent, as "name(transaction) code".
struct Said : MessageSink {
    std::string text;
    ChunkReader reader;
    base::Result<bool> on_message(Message& m) override {
        if (m.type == kCommand) {
            Command c = *read_command(m);
            text += c.name;
            if (c.transaction_id) text += fmt::format("({})", c.transaction_id);
            const Value& value = c.argument(1);
            if (value.is_number()) text += fmt::format(" {}", value.number_or(0));
            if (value.has("code")) text += " " + std::string(value.get("code").string_or(""));
            text += ";";
        } else if (m.type == kUserControl) {
            auto e = *read_user_control(m);
            text += fmt::format("event {} {};", e.event, e.value);
        } else if (m.type == kAcknowledgement) {
            text += fmt::format("ack {};", *read_control_value(m));
        } else {
            text += fmt::format("[{}];", m.type);
        }
        return true;
    }
    std::string take(ServerSession& session) {
        EXPECT_TRUE(reader.feed(session.take_output(), *this));
        return std::exchange(text, "");
    }
};

Bytes call(std::string name, double transaction, std::vector<Value> arguments, uint32_t stream_id = 0) {
    Bytes out;
    append_command(out, 3, stream_id, {std::move(name), transaction, std::move(arguments)}, 128);
    return out;
}
Bytes connect_call() { return call("connect", 1, {Value::object({{"app", "live"}, {"tcUrl", "rtmp://h/live"}})}); }
Bytes media(uint8_t type, uint32_t stream_id, uint32_t timestamp = 0) {
    Bytes out, body{0xaf, 1, 2, 3};
    append_message(out, 4, type, stream_id, timestamp, body, 128);
    return out;
}

struct Fixture : ::testing::Test {
    Server server;
    Said said;
    void feed(const Bytes& bytes) {
        auto n = server.session.feed(bytes);
        ASSERT_TRUE(n) << n.error().text();
        ASSERT_EQ(*n, bytes.size());
    }
    void connect() {
        feed(connect_call());
        said.take(server.session);
        server.log.clear();
    }
    std::string error(const Bytes& bytes) {
        auto n = server.session.feed(bytes);
        return n ? "" : n.error().text();
    }
};
using RtmpServerSession = Fixture;

TEST_F(RtmpServerSession, Connect) {
    feed(connect_call());
    EXPECT_EQ(server.log, "connect live;");
    EXPECT_EQ(server.connected.tc_url, "rtmp://h/live");
    EXPECT_FALSE(server.connected.enhanced);
    EXPECT_EQ(server.connected.forward_path, "");
    EXPECT_EQ(said.take(server.session), "[5];[6];_result(1) NetConnection.Connect.Success;onBWDone;");
    EXPECT_EQ(server.session.out_chunk_size(), 60000u);
    EXPECT_EQ(said.reader.chunk_size(), 60000u);
    EXPECT_EQ(error(connect_call()), "a second connect");
}

TEST_F(RtmpServerSession, ConnectEnhanced) {
    feed(call("connect", 1, {Value::object({{"app", "live"}, {"fourCcList", Value::strict_array({"hvc1"})}})}));
    EXPECT_TRUE(server.connected.enhanced);
    EXPECT_FALSE(server.connected.multitrack);
    struct Find : MessageSink {
        bool found = false;
        base::Result<bool> on_message(Message& m) override {
            if (m.type != kCommand) return true;
            Command c = *read_command(m);
            for (const Value& v : c.arguments) found |= v.get("fourCcList").elements().size() == 11;
            return true;
        }
    } find;
    ChunkReader reader;
    ASSERT_TRUE(reader.feed(server.session.take_output(), find));
    EXPECT_TRUE(find.found);
}

TEST_F(RtmpServerSession, ConnectRefused) {
    server.refuse = true;
    feed(connect_call());
    EXPECT_EQ(said.take(server.session), "_error(1) NetConnection.Connect.Rejected;");
    EXPECT_FALSE(server.session.connected());
}

TEST_F(RtmpServerSession, FmlePublish) {
    connect();
    feed(call("releaseStream", 2, {{}, "s"}));
    feed(call("FCPublish", 3, {{}, "s"}));
    feed(call("createStream", 4, {{}}));
    EXPECT_EQ(said.take(server.session), "_result(2);_result(3);_result(4) 1;");
    feed(call("publish", 5, {{}, "s?k=v", "live"}, 1));
    EXPECT_EQ(said.take(server.session), "onFCPublish NetStream.Publish.Start;onStatus NetStream.Publish.Start;");
    feed(media(kVideo, 1));
    feed(media(kData, 1));
    EXPECT_EQ(server.log, "publish s?k=v live 0;media 9;media 18;");
    server.log.clear();
    feed(call("FCUnpublish", 6, {{}, "s"}));
    EXPECT_EQ(said.take(server.session),
              "onFCUnpublish NetStream.Unpublish.Success;onStatus NetStream.Unpublish.Success;_result(6);");
    feed(call("deleteStream", 7, {{}, 1}));
    feed(media(kVideo, 1));
    EXPECT_EQ(server.log, "close;");
}

TEST_F(RtmpServerSession, FcUnpublishEndsTheStreamOfItsName) {
    connect();
    for (const char* name : {"one?k=v", "two"}) {
        feed(call("createStream", 4, {{}}));
        feed(call("publish", 5, {{}, name, "live"}, 1));
        server.log.clear();
        feed(call("FCUnpublish", 6, {{}, "three"}));
        feed(media(kVideo, 1));
        EXPECT_EQ(server.log, "media 9;") << "another name";
        feed(call("FCUnpublish", 7, {{}, *name == 'o' ? "one?k=w" : ""}));
        EXPECT_EQ(server.log, "media 9;close;");
        feed(call("FCUnpublish", 8, {{}, name}));
        EXPECT_EQ(server.log, "media 9;close;");
    }
}

TEST_F(RtmpServerSession, FlashAndHaivisionPublish) {
    connect();
    feed(call("createStream", 2, {{}}));
    feed(call("publish", 0, {{}, "s"}, 1));
    EXPECT_EQ(server.log, "publish s live 2;");
    Server other;
    ASSERT_TRUE(other.session.feed(connect_call()));
    ASSERT_TRUE(other.session.feed(call("createStream", 2, {{}})));
    ASSERT_TRUE(other.session.feed(call("FCPublish", 3, {{}, "s"})));
    ASSERT_TRUE(other.session.feed(call("publish", 0, {{}, "s"}, 1)));
    EXPECT_EQ(other.log, "connect live;publish s live 1;");
}

TEST_F(RtmpServerSession, PublishRefused) {
    connect();
    server.refuse = true;
    feed(call("publish", 5, {{}, "s", "live"}, 1));
    EXPECT_EQ(said.take(server.session), "onStatus NetStream.Publish.BadName;");
    EXPECT_FALSE(server.session.publishing());
}

TEST_F(RtmpServerSession, MediaOnAnotherStream) {
    connect();
    feed(call("publish", 5, {{}, "s", "live"}, 1));
    feed(media(kAudio, 0));
    EXPECT_EQ(server.log, "publish s live 2;media 8;");
}

TEST_F(RtmpServerSession, Play) {
    connect();
    feed(call("createStream", 2, {{}}));
    feed(call("_checkbw", 3, {{}}));
    feed(call("FCSubscribe", 0, {{}, "s"}));
    feed(call("getStreamLength", 4, {{}, "s"}));
    EXPECT_EQ(said.take(server.session), "_result(2) 1;_result(3);onFCSubscribe NetStream.Play.Start;_result(4) 0;");
    feed(call("play", 5, {{}, "s", -1000, 5000, false}, 1));
    EXPECT_EQ(said.take(server.session), "event 0 1;onStatus NetStream.Play.Start;[18];");
    Bytes out;
    append_user_control(out, {kSetBufferLength, 1, 3000});
    feed(out);
    feed(call("pause", 0, {{}, true, 0}, 1));
    feed(call("pause", 0, {{}, false, 0}, 1));
    feed(call("receiveAudio", 0, {{}, false}, 1));
    feed(call("receiveVideo", 0, {{}, true}, 1));
    feed(call("seek", 0, {{}, 1000}, 1));
    feed(call("closeStream", 0, {{}}, 1));
    EXPECT_EQ(said.take(server.session),
              "event 1 1;onStatus NetStream.Pause.Notify;event 0 1;onStatus NetStream.Unpause.Notify;"
              "onStatus NetStream.Seek.Failed;");
    EXPECT_EQ(server.log, "play s -1000 5000 false;pause true;pause false;receive 1 false;receive 0 true;close;");
}

TEST_F(RtmpServerSession, OneStreamAtATime) {
    for (const bool publishes : {false, true}) {
        Server one;
        ASSERT_TRUE(one.session.feed(connect_call()));
        ASSERT_TRUE(one.session.feed(call(publishes ? "publish" : "play", 0, {{}, "a", "live"}, 1)));
        one.log.clear();
        said.take(one.session);
        const std::string why = fmt::format("the connection {} a stream already", publishes ? "publishes" : "plays");
        for (const uint32_t id : {1u, 2u}) {
            ASSERT_TRUE(one.session.feed(call("createStream", 2, {{}})));
            ASSERT_TRUE(one.session.feed(call("play", 0, {{}, "b"}, id)));
            ASSERT_TRUE(one.session.feed(call("publish", 0, {{}, "c", "live"}, id)));
            EXPECT_EQ(said.take(one.session),
                      "_result(2) 1;onStatus NetStream.Play.Failed;onStatus NetStream.Publish.BadName;");
            EXPECT_EQ(one.log, fmt::format("dropped {0};dropped {0};", why));
            one.log.clear();
        }
        ASSERT_TRUE(one.session.feed(call("closeStream", 0, {{}}, 2)));
        EXPECT_EQ(one.log, "") << "another message stream";
        ASSERT_TRUE(one.session.feed(call(publishes ? "deleteStream" : "closeStream", 0, {{}, 1}, 1)));
        ASSERT_TRUE(one.session.feed(call("play", 0, {{}, "b"}, 1)));
        EXPECT_EQ(one.log, "close;play b -2000 -1 true;");
    }
}

TEST_F(RtmpServerSession, StreamEnds) {
    connect();
    feed(call("play", 0, {{}, "a"}, 1));
    said.take(server.session);
    server.session.end_play();
    EXPECT_EQ(said.take(server.session),
              "event 1 1;onStatus NetStream.Play.UnpublishNotify;onStatus NetStream.Play.Stop;");
    feed(call("closeStream", 0, {{}}, 1));
    EXPECT_EQ(server.log, "play a -2000 -1 true;");
}

TEST_F(RtmpServerSession, DecidesLater) {
    server.wait = true;
    Bytes both = connect_call(), create = call("createStream", 2, {{}});
    size_t first = both.size();
    both.insert(both.end(), create.begin(), create.end());
    EXPECT_EQ(*server.session.feed(both), first);
    EXPECT_TRUE(server.session.deciding());
    EXPECT_EQ(*server.session.feed(create), 0u);
    server.session.accept_connect({});
    EXPECT_EQ(*server.session.feed(create), create.size());
    EXPECT_NE(said.take(server.session).find("_result(2) 1;"), std::string::npos);
}

TEST_F(RtmpServerSession, UnknownCommands) {
    connect();
    feed(call("makeCoffee", 9, {{}, "black"}));
    feed(call("makeTea", 0, {{}}));
    feed(call("_result", 3, {{}}));
    feed(call("checkBandwidth", 4, {{}}));
    EXPECT_EQ(said.take(server.session), "_error(9) NetConnection.Call.Failed;_result(4);");
}

TEST_F(RtmpServerSession, PingAndAcknowledgements) {
    connect();
    Bytes out;
    append_user_control(out, {kPingRequest, 1234});
    append_acknowledgement(out, 777);
    append_window_ack_size(out, 5000);
    feed(out);
    EXPECT_EQ(said.take(server.session), "event 7 1234;");
    feed(call("publish", 0, {{}, "s", "live"}, 1));
    said.take(server.session);
    std::string told;
    size_t fed = 0;
    while (fed < 11000) {
        Bytes m = media(kAudio, 1);
        feed(m);
        fed += m.size();
        told += said.take(server.session);
    }
    EXPECT_EQ(std::count(told.begin(), told.end(), ';'), 2) << told;
    // A peer that limits our bandwidth is sent the window.
    out.clear();
    append_set_peer_bandwidth(out, 100000, LimitType::kDynamic);
    feed(out);
    EXPECT_EQ(said.take(server.session), "[5];");
}

TEST_F(RtmpServerSession, AggregateIsSplit) {
    connect();
    feed(call("publish", 0, {{}, "s", "live"}, 1));
    Bytes body{8, 0, 0, 1, 0, 0, 10, 0, 0, 0, 0, 0xaf, 0, 0, 0, 12,
               9, 0, 0, 1, 0, 0, 30, 0, 0, 0, 0, 0x17, 0, 0, 0, 12};
    Bytes out;
    append_message(out, 6, kAggregate, 1, 1000, body, 128);
    feed(out);
    ASSERT_EQ(server.media.size(), 2u);
    EXPECT_EQ(server.media[0].timestamp, 1000u);
    EXPECT_EQ(server.media[1].timestamp, 1020u);
}

TEST_F(RtmpServerSession, AnAggregatesTimesWrap) {
    connect();
    feed(call("publish", 0, {{}, "s", "live"}, 1));
    Bytes body{8, 0, 0, 1, 0xff, 0xff, 0xf0, 0xff, 0, 0, 0, 0xaf, 0, 0, 0, 12,
               9, 0, 0, 1, 0,    0,    0x18, 0,    0, 0, 0, 0x17, 0, 0, 0, 12};
    for (uint32_t begin : {1000u, 0x7ffffff0u, 0xfffffff0u}) {
        server.media.clear();
        Bytes out;
        append_message(out, 6, kAggregate, 1, begin, body, 128);
        feed(out);
        ASSERT_EQ(server.media.size(), 2u);
        EXPECT_EQ(server.media[0].timestamp, begin);
        EXPECT_EQ(server.media[1].timestamp, begin + 40);
    }
}

TEST_F(RtmpServerSession, ManyMessagesAreTakenInSteps) {
    connect();
    feed(call("publish", 0, {{}, "s", "live"}, 1));
    const size_t count = 3 * ServerSession::kMessagesAtOnce + 5;
    Bytes part{8, 0, 0, 1, 0, 0, 10, 0, 0, 0, 0, 0xaf, 0, 0, 0, 12}, body, out;
    for (size_t i = 0; i < count; ++i) body.insert(body.end(), part.begin(), part.end());
    append_message(out, 6, kAggregate, 1, 1000, body, 128);
    const Bytes behind = media(kAudio, 1);
    for (size_t i = 0; i < count; ++i) out.insert(out.end(), behind.begin(), behind.end());
    size_t steps = 0, before = 0;
    for (std::span<const uint8_t> rest(out); !rest.empty() || server.session.has_backlog(); ++steps) {
        auto taken = server.session.feed(rest);
        ASSERT_TRUE(taken && server.session.takes_input());
        rest = rest.subspan(*taken);
        EXPECT_LE(server.media.size() - before, ServerSession::kMessagesAtOnce);
        before = server.media.size();
        ASSERT_LT(steps, 2 * count);
    }
    EXPECT_EQ(server.media.size(), 2 * count);
    EXPECT_EQ(steps, 7u);  // for 107 messages, including the aggregate
}

TEST_F(RtmpServerSession, AnAggregateEndsWithItsStream) {
    connect();
    feed(call("publish", 0, {{}, "s", "live"}, 1));
    Bytes part{8, 0, 0, 1, 0, 0, 10, 0, 0, 0, 0, 0xaf, 0, 0, 0, 12}, body, out;
    for (size_t i = 0; i < 100; ++i) body.insert(body.end(), part.begin(), part.end());
    append_message(out, 6, kAggregate, 1, 1000, body, 128);
    feed(out);
    EXPECT_TRUE(server.session.has_backlog());
    server.session.end_publish("NetStream.Unpublish.Success", "over");
    feed({});
    EXPECT_FALSE(server.session.has_backlog());
    EXPECT_LE(server.media.size(), ServerSession::kMessagesAtOnce);
}

TEST_F(RtmpServerSession, Amf3Commands) {
    connect();
    Bytes plain = call("createStream", 2, {{}});
    Bytes body{0};
    body.insert(body.end(), plain.begin() + 12, plain.end());
    Bytes out;
    append_message(out, 3, kCommandAmf3, 0, 0, body, 128);
    feed(out);
    EXPECT_EQ(said.take(server.session), "_result(2) 1;");
}

TEST_F(RtmpServerSession, BadInput) {
    Bytes deep;
    {
        Bytes body;
        base::ByteWriter w(body);
        amf::encode_amf0("connect", w);
        amf::encode_amf0(1, w);
        for (int i = 0; i < 10000; ++i) body.insert(body.end(), {3, 0, 1, 'a'});
        append_message(deep, 3, kCommand, 0, 0, body, 128);
    }
    Bytes long_string;
    append_message(long_string, 3, kCommand, 0, 0, Bytes{2, 0xff, 0xff, 'c'}, 128);
    Bytes random;
    for (uint32_t i = 0, x = 7; i < 5000; ++i) random.push_back(uint8_t((x = x * 1664525 + 1013904223) >> 24));
    struct Row {
        const char* what;
        Bytes wire;
    };
    const Row rows[] = {
        {"before connect", call("publish", 0, {{}, "s"}, 1)},
        {"before connect", call("what", 0, {{}})},
        {"command", deep},
        {"command", long_string},
        {"a message of type 13 with 842588 bytes", random},
        {"begins with a type 3", Bytes{0xc3, 1, 2, 3}},
        {"chunk size 0", Bytes{2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0}},
        {"chunk size 2147483648", Bytes{2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0x80, 0, 0, 0}},
    };
    for (const Row& row : rows) {
        Server s;
        auto n = s.session.feed(row.wire);
        ASSERT_FALSE(n) << row.what;
        EXPECT_NE(n.error().text().find(row.what), std::string::npos) << n.error().text();
    }
}

// The chunk stream is in order: what follows is read.
TEST_F(RtmpServerSession, AMessageThatIsNotValidIsDropped) {
    connect();
    struct Row {
        const char* what;
        Bytes wire;
    };
    for (const Row& row : {Row{"user control", Bytes{2, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 0}},
                           Row{"control message 5", Bytes{2, 0, 0, 0, 0, 0, 1, 5, 0, 0, 0, 0, 0}},
                           Row{"command", Bytes{3, 0, 0, 0, 0, 0, 2, 20, 0, 0, 0, 0, 0xff, 0xff}}}) {
        server.log.clear();
        feed(row.wire);
        EXPECT_NE(server.log.find(std::string("dropped ") + row.what), std::string::npos) << server.log;
        feed(call("createStream", 2, {{}}));
        EXPECT_NE(said.take(server.session).find("_result"), std::string::npos) << row.what;
    }
}

TEST_F(RtmpServerSession, LargeMessagesAreForPublishers) {
    const auto announce = [&](uint8_t type) {
        Bytes wire{4, 0, 0, 0, 0xff, 0xff, 0xff, type, 1, 0, 0, 0};
        wire.resize(wire.size() + 128);
        return server.session.feed(wire);
    };
    connect();
    feed(call("createStream", 2, {{}}));
    feed(call("publish", 0, {{}, "s"}, 1));
    Server another;
    EXPECT_FALSE(another.session.feed(Bytes{3, 0, 0, 0, 0xff, 0xff, 0xff, kCommand, 0, 0, 0, 0}));
    EXPECT_FALSE(Server().session.feed(Bytes{4, 0, 0, 0, 0xff, 0xff, 0xff, kVideo, 1, 0, 0, 0}));
    ASSERT_TRUE(announce(kVideo));
    EXPECT_EQ(server.session.reader().in_progress(), ChunkReader::kFirstPayload);
    EXPECT_FALSE(server.session.feed(Bytes{3, 0, 0, 0, 0xff, 0xff, 0xff, kCommand, 0, 0, 0, 0}));
}

TEST_F(RtmpServerSession, HalfAChunkIsNoError) {
    connect();
    Bytes m = call("createStream", 2, {{}});
    m.resize(m.size() / 2);
    feed(m);
    EXPECT_EQ(said.take(server.session), "");
}

TEST_F(RtmpServerSession, OutputIsBounded) {
    connect();
    Bytes many;
    for (int i = 0; i < 5000; ++i) {
        Bytes one = call("unknown", 2, {{}});
        many.insert(many.end(), one.begin(), one.end());
    }
    size_t at = 0;
    int rounds = 0;
    while (at < many.size()) {
        auto n = server.session.feed(std::span(many).subspan(at));
        ASSERT_TRUE(n);
        ASSERT_GT(*n, 0u);
        at += *n;
        EXPECT_LE(server.session.take_output().size(), ServerSession::kMaxOutput + 1000);
        ++rounds;
    }
    EXPECT_GT(rounds, 1);
}

TEST_F(RtmpServerSession, IsSmall) { EXPECT_LE(sizeof(ServerSession), 208u); }

}  // namespace
}  // namespace rtmp

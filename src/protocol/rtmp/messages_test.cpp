#include "protocol/rtmp/messages.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "protocol/amf/amf0.h"
#include "protocol/rtmp/chunk_reader.h"
#include "protocol/rtmp/rtmp_testing.h"

namespace rtmp {
namespace {

using testing::MessageCollector;
using Bytes = std::vector<uint8_t>;

Message one(const Bytes& wire) {
    ChunkReader reader;
    MessageCollector sink;
    EXPECT_TRUE(reader.feed(wire, sink));
    EXPECT_EQ(sink.messages.size(), 1u);
    return sink.messages.empty() ? Message{} : sink.messages[0];
}

Message message(uint8_t type, const Bytes& body) { return {type, 3, 0, 0, base::Slice::copy(body)}; }

TEST(RtmpMessages, Control) {
    Bytes out;
    append_acknowledgement(out, 0x12345678);
    EXPECT_EQ(one(out).type, kAcknowledgement);
    EXPECT_EQ(*read_control_value(one(out)), 0x12345678u);
    out.clear();
    append_window_ack_size(out, 2500000);
    EXPECT_EQ(one(out).type, kWindowAckSize);
    EXPECT_EQ(one(out).csid, 2u);
    EXPECT_EQ(*read_control_value(one(out)), 2500000u);
    out.clear();
    append_set_peer_bandwidth(out, 77, LimitType::kDynamic);
    EXPECT_EQ(one(out).type, kSetPeerBandwidth);
    EXPECT_EQ(*read_control_value(one(out)), 77u);
    EXPECT_EQ(one(out).payload[4], 2);
    EXPECT_FALSE(read_control_value(message(kWindowAckSize, {0, 0, 1})));
}

TEST(RtmpMessages, UserControl) {
    for (UserControl event : {UserControl{kStreamBegin, 1, 0}, {kSetBufferLength, 1, 3000}, {kPingRequest, 99, 0}}) {
        Bytes out;
        append_user_control(out, event);
        auto read = read_user_control(one(out));
        ASSERT_TRUE(read);
        EXPECT_EQ(read->event, event.event);
        EXPECT_EQ(read->value, event.value);
        EXPECT_EQ(read->extra, event.extra);
    }
    EXPECT_TRUE(read_user_control(message(kUserControl, {0, 6})));
    EXPECT_FALSE(read_user_control(message(kUserControl, {0})));
    EXPECT_FALSE(read_user_control(message(kUserControl, {})));
}

TEST(RtmpMessages, Commands) {
    Command c{"connect", 1, {}};
    c.arguments.push_back(amf::Value::object({{"app", "live"}}));
    c.arguments.push_back(true);
    Bytes out;
    append_command(out, 3, 0, c, 128);
    Message m = one(out);
    EXPECT_EQ(m.type, kCommand);
    auto read = read_command(m);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name, "connect");
    EXPECT_EQ(read->transaction_id, 1);
    EXPECT_EQ(read->argument(0).get("app").string_or(""), "live");
    EXPECT_TRUE(read->argument(1).bool_or(false));
    EXPECT_TRUE(read->argument(2).is_null_or_undefined());

    // The same as sent by AMF3 peers: a leading 0, then AMF0.
    Bytes body{0};
    body.insert(body.end(), m.payload.begin(), m.payload.end());
    read = read_command(message(kCommandAmf3, body));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name, "connect");
}

TEST(RtmpMessages, BadCommands) {
    Bytes deep;
    base::ByteWriter w(deep);
    amf::encode_amf0("connect", w);
    amf::encode_amf0(1, w);
    for (int i = 0; i < 10000; ++i) deep.insert(deep.end(), {3, 0, 1, 'a'});
    struct Row {
        Bytes body;
        const char* why;
    };
    const Row rows[] = {
        {{}, "without a name"},
        {{0, 0, 0, 0, 0, 0, 0, 0, 0}, "without a name"},
        {{5}, "without a name"},
        {{2, 0, 1, 'a', 2, 0, 1, 'b'}, "no number"},
        {{2, 0, 200, 'a'}, "command: "},                   // a string longer than its message
        {{12, 0xff, 0xff, 0xff, 0xff, 'a'}, "command: "},  // a long string
        {deep, "command: "},                               // nested 10,000 deep
        {Bytes(200000, 5), "a command of 200000 bytes"},
    };
    for (const Row& row : rows) {
        auto r = read_command(message(kCommand, row.body));
        ASSERT_FALSE(r) << row.why;
        EXPECT_NE(r.error().text().find(row.why), std::string::npos) << r.error().text();
    }
}

Bytes tag(uint8_t type, uint32_t timestamp, const Bytes& body) {
    Bytes b;
    base::ByteWriter w(b);
    w.u8(type), w.u24(uint32_t(body.size())), w.u24(timestamp & 0xffffff), w.u8(uint8_t(timestamp >> 24)), w.u24(0);
    w.bytes(body), w.u32(uint32_t(11 + body.size()));
    return b;
}

TEST(RtmpMessages, Aggregates) {
    Bytes body = tag(8, 0x1000010, {1, 2});
    for (uint8_t b : tag(9, 0x1000030, {3})) body.push_back(b);
    for (uint8_t b : tag(18, 0x1000030, {})) body.push_back(b);
    Message aggregate{kAggregate, 6, 1, 5000, base::Slice::copy(body)};
    std::vector<Message> got;
    auto split = [&got](const Message& whole) {
        for (AggregateReader parts(whole); !parts.at_end();) {
            auto part = parts.next();
            if (!part) return false;
            got.push_back(*part);
        }
        return true;
    };
    ASSERT_TRUE(split(aggregate));
    ASSERT_EQ(got.size(), 3u);
    EXPECT_EQ(got[0].type, 8);
    EXPECT_EQ(got[0].timestamp, 5000u);
    EXPECT_EQ(got[0].stream_id, 1u);
    EXPECT_EQ(got[0].payload.size(), 2u);
    EXPECT_EQ(got[1].timestamp, 5032u);
    EXPECT_EQ(got[1].payload[0], 3);
    EXPECT_TRUE(got[2].payload.empty());
    // Without the last back pointer, and truncated in the middle.
    got.clear();
    aggregate.payload = aggregate.payload.sub(0, body.size() - 4);
    EXPECT_TRUE(split(aggregate));
    EXPECT_EQ(got.size(), 3u);
    aggregate.payload = aggregate.payload.sub(0, 12);
    EXPECT_FALSE(split(aggregate));
    aggregate.payload = base::Slice::copy(tag(kAggregate, 0, {}));
    EXPECT_FALSE(split(aggregate));
}

}  // namespace
}  // namespace rtmp

#include "protocol/rtmp/chunk_reader.h"

#include <gtest/gtest.h>

#include "protocol/rtmp/chunk_writer.h"
#include "protocol/rtmp/rtmp_testing.h"

namespace rtmp {
namespace {

using testing::MessageCollector;
using Bytes = std::vector<uint8_t>;

Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
Bytes fill(size_t n, uint8_t first = 0) {
    Bytes b(n);
    for (size_t i = 0; i < n; ++i) b[i] = static_cast<uint8_t>(first + i);
    return b;
}
Bytes u24(uint32_t v) { return {uint8_t(v >> 16), uint8_t(v >> 8), uint8_t(v)}; }
Bytes u32(uint32_t v) { return Bytes{uint8_t(v >> 24)} + u24(v); }
Bytes type0(uint8_t csid, uint32_t time, uint32_t length, uint8_t type, uint8_t stream_id) {
    return Bytes{csid} + u24(time) + u24(length) + Bytes{type, stream_id, 0, 0, 0};
}
Bytes type1(uint8_t csid, uint32_t delta, uint32_t length, uint8_t type) {
    return Bytes{uint8_t(0x40 | csid)} + u24(delta) + u24(length) + Bytes{type};
}
Bytes type2(uint8_t csid, uint32_t delta) { return Bytes{uint8_t(0x80 | csid)} + u24(delta); }
Bytes type3(uint8_t csid) { return {uint8_t(0xc0 | csid)}; }
Bytes chunk_size(uint32_t size) { return type0(2, 0, 4, kSetChunkSize, 0) + u32(size); }

struct Want {
    uint8_t type;
    uint32_t stream_id;
    uint32_t timestamp;
    Bytes payload;
};

// Feeds the bytes in pieces of several small sizes, and whole: the output must be the same.
void expect(const Bytes& wire, const std::vector<Want>& want, const char* what) {
    for (size_t step : {size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{7}, size_t{13}, size_t{150}, wire.size()}) {
        ChunkReader reader;
        MessageCollector sink;
        for (size_t at = 0; at < wire.size(); at += step) {
            auto piece = std::span(wire).subspan(at, std::min(step, wire.size() - at));
            auto n = reader.feed(piece, sink);
            ASSERT_TRUE(n) << what << ": " << n.error().text();
            ASSERT_EQ(*n, piece.size());
        }
        ASSERT_EQ(sink.messages.size(), want.size()) << what << " step " << step;
        EXPECT_EQ(reader.in_progress(), 0u);
        for (size_t i = 0; i < want.size(); ++i) {
            EXPECT_EQ(sink.messages[i].type, want[i].type) << what;
            EXPECT_EQ(sink.messages[i].stream_id, want[i].stream_id) << what;
            EXPECT_EQ(sink.messages[i].timestamp, want[i].timestamp) << what << " message " << i << " step " << step;
            EXPECT_EQ(Bytes(sink.messages[i].payload.begin(), sink.messages[i].payload.end()), want[i].payload)
                << what << " message " << i << " step " << step;
        }
    }
}

std::string error_of(const Bytes& wire) {
    ChunkReader reader;
    MessageCollector sink;
    auto n = reader.feed(wire, sink);
    return n ? "" : n.error().text();
}

TEST(ChunkReader, HeaderTypes) {
    Bytes a = fill(10), b = fill(10, 50);
    expect(type0(4, 1000, 10, 8, 1) + a + type1(4, 20, 10, 9) + b + type2(4, 23) + a + type3(4) + b,
           {{8, 1, 1000, a}, {9, 1, 1020, b}, {9, 1, 1043, a}, {9, 1, 1066, b}}, "deltas");
    expect(type0(4, 40, 10, 8, 1) + a + type3(4) + b, {{8, 1, 40, a}, {8, 1, 80, b}}, "type 3 after type 0");
    expect(type1(2, 7, 6, 4) + fill(6), {{4, 0, 7, fill(6)}}, "librtmp's first ping");
    expect(type0(4, 0, 0, 8, 1) + type0(4, 5, 3, 8, 1) + fill(3) + type2(4, 1) + fill(3) + type0(4, 9, 0, 9, 2),
           {{8, 1, 0, {}}, {8, 1, 5, fill(3)}, {8, 1, 6, fill(3)}, {9, 2, 9, {}}}, "empty messages");
}

TEST(ChunkReader, ChunkStreamIds) {
    auto header = [](Bytes basic) { return basic + u24(1) + u24(2) + Bytes{8, 1, 0, 0, 0, 'a', 'b'}; };
    for (auto [basic, csid] : {std::pair(Bytes{63}, 63u),
                               {Bytes{0, 0}, 64u},
                               {Bytes{0, 255}, 319u},
                               {Bytes{1, 0, 1}, 320u},
                               {Bytes{1, 255, 255}, 65599u}}) {
        ChunkReader reader;
        MessageCollector sink;
        ASSERT_TRUE(reader.feed(header(basic), sink));
        ASSERT_EQ(sink.messages.size(), 1u);
        EXPECT_EQ(sink.messages[0].csid, csid);
    }
    // The same chunk stream id in two encodings.
    expect(Bytes{0, 6} + header({}) + Bytes{0xc1, 6, 0, 'c', 'd'}, {{8, 1, 1, {'a', 'b'}}, {8, 1, 2, {'c', 'd'}}},
           "70");
}

TEST(ChunkReader, Interleaved) {
    Bytes v = fill(300), a = fill(200, 9);
    auto part = [](const Bytes& b, size_t at, size_t n) {
        return Bytes(b.begin() + long(at), b.begin() + long(at + n));
    };
    expect(type0(6, 5, 300, 9, 1) + part(v, 0, 128) + type0(4, 6, 200, 8, 1) + part(a, 0, 128) + type3(6) +
               part(v, 128, 128) + type3(4) + part(a, 128, 72) + type3(6) + part(v, 256, 44),
           {{8, 1, 6, a}, {9, 1, 5, v}}, "two chunk streams");
}

TEST(ChunkReader, ChunkSizes) {
    Bytes body = fill(70000);
    expect(chunk_size(1) + type0(3, 0, 3, 8, 1) + Bytes{0} + type3(3) + Bytes{1} + type3(3) + Bytes{2},
           {{8, 1, 0, fill(3)}}, "1");
    for (uint32_t size : {70000u, 0xffffffu, 0x1000000u, 0x7fffffffu})
        expect(chunk_size(size) + type0(3, 0, 70000, 8, 1) + body, {{8, 1, 0, body}}, "large");
    EXPECT_EQ(error_of(chunk_size(0)), "chunk size 0");
    EXPECT_EQ(error_of(chunk_size(0x80000000)), "chunk size 2147483648");
    EXPECT_NE(error_of(type0(2, 0, 3, kSetChunkSize, 0) + fill(3)).find("4 are needed"), std::string::npos);
    EXPECT_NE(error_of(type0(2, 0, 0, kAbort, 0)).find("4 are needed"), std::string::npos);
}

TEST(ChunkReader, ExtendedTimestamps) {
    const uint32_t t = 0x01020304;
    auto first = [&](uint32_t n) { return type0(4, 0xffffff, n, 8, 1) + u32(t); };
    Bytes body = fill(300, 7);
    auto part = [&](size_t at, size_t n) { return Bytes(body.begin() + long(at), body.begin() + long(at + n)); };
    expect(first(300) + part(0, 128) + type3(4) + u32(t) + part(128, 128) + type3(4) + u32(t) + part(256, 44),
           {{8, 1, t, body}}, "repeated");
    expect(first(300) + part(0, 128) + type3(4) + part(128, 128) + type3(4) + part(256, 44), {{8, 1, t, body}},
           "not repeated");
    // The rest is shorter than the field: decided by the peer's earlier behavior, or by the following bytes.
    for (size_t tail : {1u, 2u, 3u, 4u}) {
        Bytes small(body.begin(), body.begin() + 128 + long(tail));
        Bytes tail_bytes(body.begin() + 128, body.begin() + 128 + long(tail));
        auto length = static_cast<uint32_t>(small.size());
        expect(first(length) + part(0, 128) + type3(4) + tail_bytes + type0(4, 5, 2, 9, 1) + fill(2) +
                   type0(4, 6, 2, 9, 1) + fill(2),
               {{8, 1, t, small}, {9, 1, 5, fill(2)}, {9, 1, 6, fill(2)}}, "short tail, not repeated");
        expect(first(length) + part(0, 128) + type3(4) + u32(t) + tail_bytes + type0(4, 5, 2, 9, 1) + fill(2),
               {{8, 1, t, small}, {9, 1, 5, fill(2)}}, "short tail, repeated");
    }
    // A delta in the extended field, in each type 3 header again; exactly 0xffffff is extended too.
    Bytes two = fill(200);
    Bytes head(two.begin(), two.begin() + 128), rest(two.begin() + 128, two.end());
    expect(type0(4, 10, 1, 8, 1) + Bytes{0} + type1(4, 0xffffff, 200, 9) + u32(0xffffff) + head + type3(4) +
               u32(0xffffff) + rest,
           {{8, 1, 10, {0}}, {9, 1, 10 + 0xffffff, two}}, "delta");
    // A message that begins with a type 3 header repeats the delta, extended field or not.
    expect(type0(4, 0, 1, 8, 1) + Bytes{0} + type2(4, 0xffffff) + u32(0x1000000) + Bytes{1} + type3(4) +
               u32(0x1000000) + Bytes{2},
           {{8, 1, 0, {0}}, {8, 1, 0x1000000, {1}}, {8, 1, 0x2000000, {2}}}, "type 3 begins a message");
}

TEST(ChunkReader, TimestampsWrap) {
    expect(type0(4, 0xffffff, 1, 8, 1) + u32(0xfffffff0) + Bytes{0} + type2(4, 0x20) + Bytes{1},
           {{8, 1, 0xfffffff0, {0}}, {8, 1, 0x10, {1}}}, "wrap");
    expect(type0(4, 0xffffff, 1, 8, 1) + u32(0x7ffffff0) + Bytes{0} + type2(4, 0x20) + Bytes{1},
           {{8, 1, 0x7ffffff0, {0}}, {8, 1, 0x80000010, {1}}}, "half");
}

TEST(ChunkReader, Abort) {
    expect(type0(4, 1, 300, 8, 1) + fill(128) + type0(2, 0, 4, kAbort, 0) + u32(4) + type0(4, 2, 3, 8, 1) + fill(3),
           {{8, 1, 2, fill(3)}}, "abort");
    expect(type0(2, 0, 4, kAbort, 0) + u32(99) + type0(4, 2, 3, 8, 1) + fill(3), {{8, 1, 2, fill(3)}}, "of nothing");
}

TEST(ChunkReader, Type3First) {
    EXPECT_EQ(error_of(type3(5) + fill(20)), "chunk stream 5 begins with a type 3 header");
    EXPECT_EQ(error_of(type2(5, 0) + fill(20)), "chunk stream 5 begins with a type 2 header");
}

TEST(ChunkReader, HeaderWithinMessage) {
    EXPECT_NE(
        error_of(type0(4, 1, 300, 8, 1) + fill(128) + type0(4, 2, 3, 8, 1)).find("within a message, at 128 of 300"),
        std::string::npos);
}

TEST(ChunkReader, TenThousandChunkStreams) {
    Bytes wire;
    for (uint32_t i = 0; i < 10000; ++i) {
        uint8_t body = 0;
        append_message(wire, 64 + i, kAudio, 1, 0, std::span(&body, 1), 128);
    }
    EXPECT_EQ(error_of(wire), "more than 64 chunk streams");
}

TEST(ChunkReader, HugeMessageNeverSent) {
    ChunkReader reader;
    MessageCollector sink;
    ASSERT_TRUE(reader.feed(type0(4, 0, 0xffffff, 9, 1) + fill(128), sink));
    EXPECT_EQ(reader.in_progress(), ChunkReader::kFirstPayload);
    // On all chunk streams: still bounded by the bytes received.
    Bytes wire;
    for (uint8_t csid = 5; csid < 60; ++csid) wire = wire + type0(csid, 0, 0xffffff, 9, 1) + fill(128);
    ASSERT_TRUE(reader.feed(wire, sink));
    EXPECT_LE(reader.in_progress(), 56 * ChunkReader::kFirstPayload);
    EXPECT_TRUE(sink.messages.empty());
}

TEST(ChunkReader, WholeBodiesInProgressAreBounded) {
    ChunkReader reader;
    MessageCollector sink;
    ASSERT_TRUE(reader.feed(chunk_size(0xffffff), sink));
    Bytes body(0xfffffe);
    ASSERT_TRUE(reader.feed(type0(4, 0, 0xffffff, 9, 1) + body, sink));
    // With chunks of 8 MB two unfinished messages fit, the third exceeds the limit.
    ChunkReader other;
    ASSERT_TRUE(other.feed(chunk_size(0x800000), sink));
    Bytes half(0x800000);
    ASSERT_TRUE(other.feed(type0(4, 0, 0xffffff, 9, 1) + half, sink));
    ASSERT_TRUE(other.feed(type0(5, 0, 0xffffff, 9, 1) + half, sink));
    auto third = other.feed(type0(6, 0, 0xffffff, 9, 1) + half, sink);
    ASSERT_FALSE(third);
    EXPECT_NE(third.error().text().find("unfinished messages"), std::string::npos);
    EXPECT_LE(other.in_progress(), ChunkReader::kMaxInProgress);
}

TEST(ChunkReader, CommandsAreSmall) {
    const uint32_t most = ChunkReader::kMaxCommand;
    for (uint8_t type : {kCommand, kCommandAmf3, kUserControl, kSharedObject, MessageType(99)}) {
        EXPECT_EQ(error_of(type0(3, 0, most, type, 0)), "");
        EXPECT_NE(error_of(type0(3, 0, most + 1, type, 0)).find("at most 65536 are accepted"), std::string::npos);
        EXPECT_NE(error_of(type0(3, 0, 4, type, 0) + fill(4) + type1(3, 0, 0xffffff, type)), "");
    }
    for (uint8_t type : {kAudio, kVideo, kData, kDataAmf3, kAggregate})
        EXPECT_EQ(error_of(type0(3, 0, 0xffffff, type, 1)), "");
}

TEST(ChunkReader, APeerThatMayNotPublishHasSmallMessages) {
    ChunkReader reader;
    MessageCollector sink;
    reader.set_takes_media(false);
    auto large = reader.feed(type0(4, 0, ChunkReader::kMaxCommand + 1, kVideo, 1), sink);
    ASSERT_FALSE(large);
    EXPECT_NE(large.error().text().find("before publishing"), std::string::npos) << large.error().text();
    // Unfinished on many chunk streams: bounded in all.
    ChunkReader other;
    other.set_takes_media(false);
    size_t begun = 0;
    for (uint8_t csid = 3; csid < 60; ++csid, ++begun)
        if (!other.feed(type0(csid, 0, ChunkReader::kMaxCommand, kCommand, 0) + fill(128), sink)) break;
    EXPECT_EQ(begun, 2u);
    EXPECT_LE(other.in_progress(), ChunkReader::kMaxCommandsInProgress);
}

TEST(ChunkReader, UnfinishedMessagesAreNamed) {
    ChunkReader reader;
    MessageCollector sink;
    const auto named = [&] {
        std::vector<uint64_t> messages;
        reader.list_unfinished(messages);
        return messages;
    };
    EXPECT_TRUE(named().empty());
    ASSERT_TRUE(reader.feed(type0(4, 0, 300, kVideo, 1) + fill(128), sink));
    ASSERT_TRUE(reader.feed(type0(5, 0, 300, kAudio, 1) + fill(128), sink));
    const auto first = named();
    ASSERT_EQ(first.size(), 2u);
    ASSERT_TRUE(reader.feed(type3(4) + fill(128), sink));
    EXPECT_EQ(named(), first);  // the same messages, of which more has come
    ASSERT_TRUE(reader.feed(type3(4) + fill(44) + type0(4, 0, 300, kVideo, 1) + fill(128), sink));
    const auto next = named();
    ASSERT_EQ(next.size(), 2u);
    EXPECT_NE(next[0], first[0]);
    EXPECT_EQ(next[1], first[1]);
}

TEST(ChunkReader, SinkStops) {
    for (size_t step : {1u, 2u, 1000u}) {
        Bytes wire = type0(4, 1, 3, 8, 1) + fill(3) + type0(4, 2, 3, 8, 1) + fill(3);
        ChunkReader reader;
        MessageCollector sink;
        sink.stop_after = 1;
        size_t at = 0;
        while (sink.messages.empty())
            at += *reader.feed(std::span(wire).subspan(at, std::min(step, wire.size() - at)), sink);
        EXPECT_EQ(at, 15u);
        ASSERT_TRUE(reader.feed(std::span(wire).subspan(at), sink));
        EXPECT_EQ(sink.messages.size(), 2u);
    }
}

TEST(ChunkReader, IsSmall) { EXPECT_LE(sizeof(ChunkReader), 80u); }

TEST(ChunkWriter, ReadBack) {
    for (uint32_t csid : {2u, 6u, 63u, 64u, 319u, 320u, 65599u})
        for (uint32_t size : {1u, 128u, 4096u, 60000u, 0xffffffu})
            for (uint32_t timestamp : {0u, 0xfffffeu, 0xffffffu, 0xffffffffu})
                for (size_t length : {0u, 1u, 127u, 128u, 129u, 4096u, 10000u}) {
                    if (size == 1 && length > 200) continue;
                    Bytes body = fill(length);
                    size_t cut = std::min<size_t>(length, 5);
                    Bytes out(chunked_size(length, size, timestamp, csid) + 1, 0xee);
                    uint8_t* end = write_chunks(out.data(), csid, 9, 1, timestamp, std::span(body).first(cut),
                                                std::span(body).subspan(cut), size);
                    ASSERT_EQ(end, out.data() + out.size() - 1);
                    EXPECT_EQ(out.back(), 0xee);
                    ChunkReader reader;
                    MessageCollector sink;
                    ASSERT_TRUE(reader.feed(chunk_size(size), sink));
                    ASSERT_TRUE(reader.feed(std::span(out).first(out.size() - 1), sink));
                    ASSERT_EQ(sink.messages.size(), 1u);
                    EXPECT_EQ(sink.messages[0].timestamp, timestamp);
                    EXPECT_EQ(sink.messages[0].csid, csid);
                    EXPECT_EQ(sink.messages[0].stream_id, 1u);
                    EXPECT_TRUE(std::equal(body.begin(), body.end(), sink.messages[0].payload.begin(),
                                           sink.messages[0].payload.end()));
                }
}

}  // namespace
}  // namespace rtmp

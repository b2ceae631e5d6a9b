#include "runtime/socket/udp_batch.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/loop/testing.h"

namespace runtime {
namespace {

using testing::ok;

class UdpBatchTest : public testing::RuntimeTest {};

base::Endpoint loopback(uint16_t port, const char* ip = "127.0.0.1") { return {*base::IpAddress::parse(ip), port}; }

void put(UdpBatch& batch, const base::Endpoint& to, char letter, size_t bytes, uint32_t flow = 0) {
    uint8_t* room = batch.reserve(bytes + 16);
    ASSERT_NE(room, nullptr);
    std::memset(room, letter, bytes);
    batch.commit(bytes, to, flow);
}

// "a100 b20 " and so on: the datagrams that have arrived, or arrive shortly.
std::string all_of(UdpSocket& socket, size_t expected) {
    std::string text;
    for (size_t count = 0; count < expected;) {
        auto got = socket.receive_batch(Deadline::in_ms(5000));
        if (!got) return text + got.error().describe();
        for (const UdpPacket& packet : *got) {
            text += fmt::format("{}{} ", static_cast<char>(packet.bytes[0]), packet.bytes.size());
            for (uint8_t byte : packet.bytes)
                if (byte != packet.bytes[0]) text += "mixed ";
            ++count;
        }
    }
    return text;
}

// A socket whose result is set by the test.
class Scripted : public UdpSocket {
  public:
    int answer = 0;  // 0: takes all
    bool segments = true;
    std::string taken;   // "a1100+ " a message, by its first piece
    std::string pieces;  // all of them, "a1100 b300 | " a message
    bool asked = false;
    UdpStats counts;
    Event writable;

    base::Result<void> send_to(std::span<const uint8_t>, const base::Endpoint&, Deadline) override { return {}; }
    base::Result<std::span<const UdpPacket>> receive_batch(Deadline) override { return std::span<const UdpPacket>(); }
    uint16_t port() const override { return 1; }
    int fd() const override { return -1; }
    UdpStats stats() override { return counts; }
    bool is_v6() const override { return false; }
    bool can_segment() const override { return segments; }
    int send_messages(std::span<mmsghdr> messages) override {
        // EIO: only for messages that need segmentation.
        if (answer == EIO && messages[0].msg_hdr.msg_controllen == 0) {
            record(messages[0]);
            return 1;
        }
        if (answer) return -answer;
        for (mmsghdr& message : messages) record(message);
        return static_cast<int>(messages.size());
    }
    base::Result<void> wait_writable(Deadline deadline) override {
        TRY(writable.wait(deadline));
        return {};
    }
    void write_would_block() override { asked = true; }
    void count_sent(size_t sent, size_t lost) override {
        counts.sent += sent;
        counts.send_lost += lost;
    }

  private:
    void record(const mmsghdr& message) {
        const iovec& part = message.msg_hdr.msg_iov[0];
        taken += fmt::format("{}{}{} ", *static_cast<char*>(part.iov_base), part.iov_len,
                             message.msg_hdr.msg_controllen ? "+" : "");
        for (size_t i = 0; i < message.msg_hdr.msg_iovlen; ++i) {
            const iovec& one = message.msg_hdr.msg_iov[i];
            pieces += fmt::format("{}{} ", *static_cast<char*>(one.iov_base), one.iov_len);
        }
        pieces += "| ";
    }
};

class Ways : public UdpBatchTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(WithAndWithoutGso, Ways, ::testing::Bool());

TEST_P(Ways, DatagramsArriveAsTheyWereCommitted) {
    auto sender = bind_udp({"127.0.0.1", 0});
    auto one = bind_udp({"127.0.0.1", 0});
    auto two = bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(sender) && ok(one) && ok(two));
    UdpBatch batch(**sender);
    if (!GetParam()) batch.forbid_gso();
    const bool gso = batch.uses_gso();
    const base::Endpoint first = loopback((*one)->port());
    const base::Endpoint second = loopback((*two)->port());
    for (char letter : {'a', 'b', 'c'}) put(batch, first, letter, 1100);
    put(batch, first, 'd', 300);   // the shorter last one
    put(batch, first, 'e', 300);   // starts another message
    put(batch, second, 'f', 300);  // another address
    put(batch, second, 'g', 301);  // longer: starts another message
    batch.flush();
    EXPECT_EQ(all_of(**one, 5), "a1100 b1100 c1100 d300 e300 ");
    EXPECT_EQ(all_of(**two, 2), "f300 g301 ");
    EXPECT_EQ(batch.counters().calls, 1u);
    EXPECT_EQ(batch.counters().messages, gso ? 4u : 7u);
    EXPECT_EQ((*sender)->stats().sent, 7u);
    EXPECT_EQ((*sender)->stats().send_lost, 0u);
}

TEST_P(Ways, AShorterOneOfAnotherFlowGoesBehind) {
    auto sender = bind_udp({"127.0.0.1", 0});
    auto receiver = bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(sender) && ok(receiver));
    UdpBatch batch(**sender);
    if (!GetParam()) batch.forbid_gso();
    const base::Endpoint to = loopback((*receiver)->port());
    put(batch, to, 'a', 100, 1);  // audio
    put(batch, to, 'v', 1100, 2);
    put(batch, to, 'w', 1100, 2);
    put(batch, to, 'b', 90, 1);    // a second short one: starts another message
    put(batch, to, 'x', 1100, 2);  // joins that message
    put(batch, to, 'y', 500, 2);   // of the same flow as x: it follows, but not behind 'b'
    put(batch, to, 'z', 900, 2);   // longer, of the same flow: does not overtake
    batch.flush();
    const bool gso = batch.uses_gso();
    EXPECT_EQ(all_of(**receiver, 7),
              gso ? "v1100 w1100 a100 x1100 b90 y500 z900 " : "a100 v1100 w1100 b90 x1100 y500 z900 ");
    EXPECT_EQ(batch.counters().messages, gso ? 4u : 7u);
}

TEST_F(UdpBatchTest, ATailLetsOthersJoinTheRun) {
    Scripted socket;
    UdpBatch batch(socket);
    const base::Endpoint to = loopback(9);
    for (int i = 0; i < 3; ++i) {
        put(batch, to, static_cast<char>('v' + i), 1000, 2);
        if (i == 0) put(batch, to, 'a', 100, 1);
    }
    batch.flush();
    EXPECT_EQ(socket.pieces, "v1000 w2000 a100 | ");
    socket.answer = EIO;
    for (char letter : {'v', 'w'}) put(batch, to, letter, 1000, 2);
    put(batch, to, 'a', 100, 1);
    put(batch, to, 'x', 1000, 2);
    socket.taken.clear();
    batch.flush();
    EXPECT_EQ(socket.taken, "v1000 w1000 x1000 a100 ");
}

TEST_P(Ways, SendsByItselfAtTheEndOfAnIteration) {
    auto sender = bind_udp({"::", 0});
    auto receiver = bind_udp({"127.0.0.1", 0});
    auto receiver6 = bind_udp({"::1", 0});
    ASSERT_TRUE(ok(sender) && ok(receiver) && ok(receiver6));
    UdpBatch batch(**sender);
    if (!GetParam()) batch.forbid_gso();
    for (char letter : {'a', 'b', 'c'}) put(batch, loopback((*receiver)->port()), letter, 500);
    put(batch, loopback((*receiver6)->port(), "::1"), 'd', 77);
    EXPECT_EQ(batch.counters().calls, 0u);
    EXPECT_EQ(all_of(**receiver, 3), "a500 b500 c500 ");
    EXPECT_EQ(all_of(**receiver6, 1), "d77 ");
    put(batch, loopback((*receiver)->port()), 'e', 500);
    EXPECT_EQ(all_of(**receiver, 1), "e500 ");
}

// A server bound to all addresses, which answers with two datagrams.
void answer_from_where_it_was_asked(const char* all, bool gso) {
    auto server = bind_udp({all, 0}, {.reports_destination = true});
    auto client = bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(server) && ok(client));
    UdpBatch questions(**client), answers(**server);
    if (!gso) answers.forbid_gso();
    std::string asked, came;
    for (const char* ip : {"127.0.0.2", "127.0.0.1", "127.0.0.3", "127.0.0.2"}) {
        put(questions, loopback((*server)->port(), ip), 'q', 50);
        questions.flush();
        auto got = (*server)->receive_batch(Deadline::in_ms(5000));
        ASSERT_TRUE(ok(got));
        const UdpPacket question = got->front();
        ASSERT_NE(question.destination, 0);
        const uint16_t source = (*server)->source_for(question.from, question.destination);
        asked += fmt::format("{} ", source ? "explicit" : "usual");
        for (uint16_t from : {source, question.destination}) {
            ASSERT_NE(answers.reserve(300), nullptr);
            answers.commit(300, question.from, 1, from);
        }
    }
    answers.flush();
    for (int count = 0; count < 8;) {
        auto got = (*client)->receive_batch(Deadline::in_ms(5000));
        ASSERT_TRUE(ok(got));
        for (const UdpPacket& packet : *got) came += fmt::format("{} ", packet.from.ip.text().back()), ++count;
    }
    EXPECT_EQ(asked, "explicit usual explicit explicit ");
    EXPECT_EQ(came, "2 2 1 1 3 3 2 2 ");
    // Datagrams of one source share a message; of those of 127.0.0.1 one specifies its source and one does not.
    EXPECT_EQ(answers.counters().messages, answers.uses_gso() ? 5u : 8u);
}

TEST_P(Ways, AnAnswerComesFromTheAddressThatWasAsked) {
    answer_from_where_it_was_asked("", GetParam());
    answer_from_where_it_was_asked("0.0.0.0", GetParam());
}

TEST_F(UdpBatchTest, OfOneAddressNothingIsTold) {
    auto server = bind_udp({"127.0.0.1", 0}, {.reports_destination = true});
    auto client = bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(server) && ok(client));
    UdpBatch batch(**client);
    put(batch, loopback((*server)->port()), 'q', 50);
    auto got = (*server)->receive_batch(Deadline::in_ms(5000));
    ASSERT_TRUE(ok(got));
    EXPECT_EQ(got->front().destination, 0);
}

TEST_F(UdpBatchTest, MuchIsSentBeforeTheIterationEnds) {
    auto sender = bind_udp({"127.0.0.1", 0});
    auto receiver = bind_udp({"127.0.0.1", 0}, {.receive_buffer_bytes = 4 << 20});
    ASSERT_TRUE(ok(sender) && ok(receiver));
    UdpBatch batch(**sender);
    const base::Endpoint to = loopback((*receiver)->port());
    for (int i = 0; i < 400; ++i) put(batch, to, static_cast<char>('a' + i % 26), 1000);
    EXPECT_GT(batch.counters().calls, 0u);
    std::string expected;
    for (int i = 0; i < 400; ++i) expected += fmt::format("{}1000 ", static_cast<char>('a' + i % 26));
    EXPECT_EQ(all_of(**receiver, 400), expected);
}

TEST_F(UdpBatchTest, AFullSocketIsWaitedForAndThenCounted) {
    Scripted socket;
    UdpBatch batch(socket);
    socket.answer = EAGAIN;
    const base::Endpoint to = loopback(9);
    size_t kept = 0;
    for (int i = 0; i < 2000; ++i) {
        if (!batch.reserve(1000)) break;
        batch.commit(1000, to);
        ++kept;
    }
    EXPECT_EQ(kept, UdpArena::kBytes / 1000);
    EXPECT_EQ(batch.reserve(1000), nullptr);
    EXPECT_EQ(socket.counts.send_lost, 2u);
    EXPECT_TRUE(socket.asked);
    ASSERT_TRUE(ok(sleep_ms(2)));
    EXPECT_EQ(socket.counts.sent, 0u);
    socket.answer = 0;
    socket.writable.set();
    ASSERT_TRUE(ok(sleep_ms(2)));
    EXPECT_EQ(socket.counts.sent, kept);
    EXPECT_NE(batch.reserve(1000), nullptr);
}

TEST_F(UdpBatchTest, WithoutSegmentationInTheDeviceEachGoesByItself) {
    Scripted socket;
    UdpBatch batch(socket);
    socket.answer = EIO;
    for (char letter : {'a', 'b', 'c'}) put(batch, loopback(9), letter, 100);
    batch.flush();
    EXPECT_EQ(socket.taken, "a100 b100 c100 ");
    EXPECT_FALSE(batch.uses_gso());
    socket.answer = 0;
    for (char letter : {'d', 'e'}) put(batch, loopback(9), letter, 100);
    batch.flush();
    EXPECT_EQ(socket.taken, "a100 b100 c100 d100 e100 ");
    EXPECT_EQ(socket.counts.sent, 5u);
    EXPECT_EQ(batch.counters().split, 1u);
}

TEST_F(UdpBatchTest, WhatHasNoWayIsLostAndTheOthersGo) {
    Scripted socket;
    socket.segments = false;
    UdpBatch batch(socket);
    socket.answer = ENETUNREACH;
    put(batch, loopback(9), 'a', 100);
    batch.flush();
    socket.answer = 0;
    put(batch, loopback(9), 'b', 100);
    batch.flush();
    EXPECT_EQ(socket.taken, "b100 ");
    EXPECT_EQ(socket.counts.send_lost, 1u);
}

}  // namespace
}  // namespace runtime

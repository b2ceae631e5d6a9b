#include "runtime/socket/process_channel.h"

#include <fcntl.h>
#include <unistd.h>

#include "runtime/loop/testing.h"
#include "runtime/socket/datagram_port.h"
#include "runtime/socket/datagram_relay.h"
#include "runtime/socket/stream_testing.h"

namespace runtime {
namespace {

using base::Code;
using testing::bytes;
using testing::failed_with;
using testing::ok;
using testing::soon;
using testing::text;

class ProcessChannelTest : public testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        auto pair = process_channel_pair();
        ASSERT_TRUE(ok(pair));
        ASSERT_TRUE(ok(one_.open(*pair->first.release_one())));
        ASSERT_TRUE(ok(other_.open(*pair->second.release_one())));
    }
    ProcessChannel one_, other_;
};

TEST_F(ProcessChannelTest, MessagesArriveWhole) {
    const std::string longest(kMaxMessageBytes, 'x');
    for (const std::string& message : {std::string("a"), longest, std::string("b")}) {
        EXPECT_TRUE(ok(one_.send({message}, soon())));
        auto received = other_.receive(soon());
        ASSERT_TRUE(ok(received));
        EXPECT_EQ(received->text, message);
        EXPECT_EQ(received->descriptors.size(), 0u);
    }
    EXPECT_TRUE(failed_with(one_.send({longest + "x"}, soon()), Code::kLimit));
    EXPECT_TRUE(failed_with(one_.send({""}, soon()), Code::kLimit));
}

TEST_F(ProcessChannelTest, DescriptorsArriveWithTheirMessage) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_TRUE(ok(one_.send({"pipe", OwnedDescriptors({ends[0]})}, soon())));
    EXPECT_LT(fcntl(ends[0], F_GETFD), 0) << "it was sent, and is closed here";
    auto received = other_.receive(soon());
    ASSERT_TRUE(ok(received));
    ASSERT_EQ(received->descriptors.size(), 1u);
    EXPECT_EQ(fcntl(received->descriptors.all().front(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(write(ends[1], "w", 1), 1);
    char byte = 0;
    EXPECT_EQ(read(received->descriptors.all().front(), &byte, 1), 1);
    close(ends[1]);
}

TEST_F(ProcessChannelTest, ASenderWaitsForAReceiver) {
    const std::string block(kMaxMessageBytes, 'x');
    size_t sent = 0;
    while (one_.send({block}, Deadline::in_ms(10))) ++sent;
    EXPECT_GT(sent, 1u);
    auto waiting = spawn("sender", [&] { EXPECT_TRUE(ok(one_.send({"last"}, soon()))); });
    for (size_t i = 0; i < sent; ++i) EXPECT_TRUE(ok(other_.receive(soon())));
    auto last = other_.receive(soon());
    ASSERT_TRUE(ok(last));
    EXPECT_EQ(last->text, "last");
    EXPECT_TRUE(ok(waiting.join(soon())));
}

TEST_F(ProcessChannelTest, TheEndIsSeen) {
    EXPECT_TRUE(ok(one_.send({"last"}, soon())));
    one_.close();
    EXPECT_TRUE(ok(other_.receive(soon())));
    EXPECT_TRUE(failed_with(other_.receive(soon()), Code::kClosed));
    EXPECT_TRUE(failed_with(other_.send({"x"}, soon()), Code::kClosed));
}

TEST_F(ProcessChannelTest, BeforeTheLoopItBlocks) {
    auto pair = process_channel_pair();
    ASSERT_TRUE(ok(pair));
    const int one = pair->first.all().front(), other = pair->second.all().front();
    EXPECT_TRUE(failed_with(receive_message_blocking(other, 10), Code::kTimeout));
    EXPECT_TRUE(ok(send_message_blocking(one, {"word"}, 10)));
    auto received = receive_message_blocking(other, 10);
    ASSERT_TRUE(ok(received));
    EXPECT_EQ(received->text, "word");
}

TEST_F(ProcessChannelTest, AStreamOfTwoProcessesIsAStream) {
    auto pair = local_stream_pair();
    ASSERT_TRUE(ok(pair));
    auto other = local_stream(*pair->second.release_one());
    ASSERT_TRUE(ok(other));
    EXPECT_EQ((*other)->peer_ip(), "127.0.0.1");
    EXPECT_TRUE(ok(pair->first->write(bytes("word"), soon())));
    EXPECT_EQ(text(read_shared(**other, soon()).value()), "word");
    EXPECT_FALSE((*other)->peer_gone());
    pair->first.reset();
    EXPECT_TRUE((*other)->peer_gone());
    EXPECT_EQ(read_shared(**other, soon()).value().size(), 0u);
}

struct Collector final : DatagramUser {
    void on_datagram(const UdpPacket& packet, DatagramPort&, int64_t) override {
        texts.push_back(text(packet.bytes));
        from = packet.from;
    }
    void on_batch_end() override { ++batches; }
    std::vector<std::string> texts{};
    base::Endpoint from{};
    int batches = 0;
};

TEST_F(ProcessChannelTest, DatagramsArePassedOn) {
    Collector user;
    auto port = DatagramPort::open({"127.0.0.1", 0}, {.reports_destination = true}, "test", user);
    auto client = bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(port) && ok(client));
    EXPECT_FALSE((*port)->pass_on(bytes("nobody"), {}, 0)) << "there is no other process";
    DatagramRelay passing, receiving;
    auto end = passing.open_passing();
    ASSERT_TRUE(ok(end));
    ASSERT_TRUE(ok(receiving.open_receiving(*end->release_one())));
    const base::Endpoint from{*base::IpAddress::parse("192.0.2.1"), 4711};
    EXPECT_TRUE((*port)->pass_on(bytes("a"), from, 0));
    EXPECT_TRUE((*port)->pass_on(bytes("b"), from, 0));
    // Of a port that this process does not have.
    passing.pass({*base::IpAddress::parse("127.0.0.1"), 1}, from, {}, bytes("c"));
    for (int i = 0; i < 100 && receiving.counters().unknown == 0; ++i) EXPECT_TRUE(ok(sleep_ms(1)));
    EXPECT_EQ(user.texts, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(user.from, from);
    EXPECT_GE(user.batches, 1);
    EXPECT_EQ(passing.counters().passed, 3u);
    passing.close();
    EXPECT_FALSE((*port)->pass_on(bytes("late"), from, 0));
}

TEST_F(ProcessChannelTest, DatagramsWithoutRoomAreCounted) {
    DatagramRelay passing;
    auto end = passing.open_passing();
    ASSERT_TRUE(ok(end));
    const std::vector<uint8_t> datagram(1'200);
    for (int i = 0; i < 100'000 && passing.counters().lost == 0; ++i) passing.pass({}, {}, {}, datagram);
    EXPECT_GT(passing.counters().lost, 0u);
    EXPECT_GT(passing.counters().passed, 50u);
}

}  // namespace
}  // namespace runtime

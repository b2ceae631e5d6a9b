// The wires, UDP ports and TCP connections, with a user that answers.

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/loop/clock.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"
#include "service/rtc/connection/routes.h"
#include "service/rtc/connection/tcp_port.h"
#include "service/rtc/connection/udp_port.h"

namespace service::rtc {
namespace {

using runtime::Deadline;
using runtime::testing::ok;

std::span<const uint8_t> bytes(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Returns what it receives in two datagrams: "[" and the text.
class Echo final : public WireUser {
  public:
    void on_datagram(std::span<uint8_t> datagram, const base::Endpoint& from, Wire& wire, int64_t) override {
        got += std::string(datagram.begin(), datagram.end()) + "|";
        if (confirms) wire.confirm();
        wire.send(bytes("["), from);
        wire.send(datagram, from);
    }
    void on_wire_closed(Wire&) override { ++closed; }
    std::string got;
    bool confirms = true;
    int closed = 0;
};

std::string framed(std::string_view text) {
    return std::string{static_cast<char>(text.size() >> 8), static_cast<char>(text.size())} + std::string(text);
}

class PortsTest : public runtime::testing::RuntimeTest {
  protected:
    std::unique_ptr<runtime::ByteStream> connect(const TcpPort& port) {
        auto stream = runtime::connect_tcp("127.0.0.1", port.port(), Deadline::in_ms(5000));
        EXPECT_TRUE(ok(stream));
        return *std::move(stream);
    }
    std::string read(runtime::ByteStream& stream, size_t count) {
        std::string text;
        while (text.size() < count) {
            std::array<uint8_t, 4096> buffer;
            auto n = stream.read(buffer, Deadline::in_ms(5000));
            if (!n || *n == 0) return text + "(end)";
            text.append(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(*n));
        }
        return text;
    }
    net::SessionTable sessions_;
    Echo echo_;
};

TEST_F(PortsTest, UdpGivesBackToWhereItCameFrom) {
    auto port = UdpPort::open({"127.0.0.1", 0}, echo_);
    auto client = runtime::bind_udp({"127.0.0.1", 0});
    ASSERT_TRUE(ok(port) && ok(client));
    runtime::UdpBatch batch(**client);
    for (std::string_view text : {"one", "two"}) {
        std::memcpy(batch.reserve(3), text.data(), 3);
        batch.commit(3, {*base::IpAddress::parse("127.0.0.1"), (*port)->port()});
    }
    std::string answers;
    while (answers.size() < 10) {
        auto got = (*client)->receive_batch(Deadline::in_ms(5000));
        ASSERT_TRUE(ok(got));
        for (auto& packet : *got) answers += std::string(packet.bytes.begin(), packet.bytes.end()) + " ";
    }
    EXPECT_EQ(answers, "[ one [ two ");
    EXPECT_EQ(echo_.got, "one|two|");
}

TEST_F(PortsTest, TcpFramesComeInPiecesAndTogether) {
    auto port = TcpPort::open({"127.0.0.1", 0}, echo_, sessions_);
    ASSERT_TRUE(ok(port));
    auto stream = connect(**port);
    const std::string text = framed("first") + framed("second") + framed("third");
    for (size_t i = 0; i < text.size(); i += 4) {
        ASSERT_TRUE(ok(stream->write(bytes(std::string_view(text).substr(i, 4)), Deadline::in_ms(5000))));
        ASSERT_TRUE(ok(runtime::sleep_ms(1)));
    }
    const std::string expected =
        framed("[") + framed("first") + framed("[") + framed("second") + framed("[") + framed("third");
    EXPECT_EQ(read(*stream, expected.size()), expected);
    EXPECT_EQ(echo_.got, "first|second|third|");
    stream.reset();
    for (int i = 0; i < 100 && (*port)->connections() > 0; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(5)));
    EXPECT_EQ((*port)->connections(), 0u);
    EXPECT_EQ(echo_.closed, 1);
}

TEST_F(PortsTest, AFrameThatCannotBeEndsTheConnection) {
    auto port = TcpPort::open({"127.0.0.1", 0}, echo_, sessions_);
    ASSERT_TRUE(ok(port));
    auto stream = connect(**port);
    ASSERT_TRUE(ok(stream->write(bytes("\xff\xff rubbish"), Deadline::in_ms(5000))));
    EXPECT_EQ(read(*stream, 1), "(end)");
    EXPECT_EQ((*port)->counters().broken, 1u);
}

TEST_F(PortsTest, WhoDoesNotShowWhoHeIsGoes) {
    echo_.confirms = false;
    auto port = TcpPort::open({"127.0.0.1", 0}, echo_, sessions_);
    ASSERT_TRUE(ok(port));
    auto stream = connect(**port);
    ASSERT_TRUE(ok(stream->write(bytes(framed("who?")), Deadline::in_ms(5000))));
    EXPECT_EQ(read(*stream, 9), framed("[") + framed("who?"));
    {
        runtime::testing::SimulatedTime time;
        time.pass_ms(TcpPort::kConfirmMs - 2'000);
        EXPECT_EQ((*port)->counters().unconfirmed, 0u);
        time.pass_ms(2'100);
        EXPECT_EQ((*port)->counters().unconfirmed, 1u);
    }
    EXPECT_EQ(read(*stream, 1), "(end)");
    EXPECT_EQ((*port)->connections(), 0u);
}

TEST_F(PortsTest, TcpConnectionsCountAndMakeRoom) {
    echo_.confirms = false;
    auto port = TcpPort::open({"127.0.0.1", 0}, echo_, sessions_);
    ASSERT_TRUE(ok(port));
    net::Admission& admission = sessions_.admission();
    auto first = connect(**port), second = connect(**port);
    ASSERT_TRUE(ok(second->write(bytes(framed("who?")), Deadline::in_ms(5000))));
    EXPECT_EQ(read(*second, 9), framed("[") + framed("who?"));
    EXPECT_EQ(admission.connections(), 2u);
    EXPECT_EQ(admission.embryonic().size(), 2u);
    EXPECT_TRUE(admission.embryonic().evict_one(runtime::now_ms(), 0));
    EXPECT_EQ(admission.connections(), 1u);
    EXPECT_EQ(read(*first, 1), "(end)");
    echo_.confirms = true;
    ASSERT_TRUE(ok(second->write(bytes(framed("me")), Deadline::in_ms(5000))));
    EXPECT_EQ(read(*second, 7), framed("[") + framed("me"));
    EXPECT_EQ(admission.embryonic().size(), 0u) << "it is confirmed";
    admission.set_options({1, {}});
    auto refused = connect(**port);
    EXPECT_EQ(read(*refused, 1), "(end)");
    EXPECT_EQ((*port)->counters().accepted, 2u);
    second.reset();
    for (int i = 0; i < 100 && (*port)->connections() > 0; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(5)));
    EXPECT_EQ(admission.connections(), 0u);
    EXPECT_EQ(echo_.closed, 2);
}

TEST_F(PortsTest, TheOldestUnconfirmedMakesRoom) {
    echo_.confirms = false;
    auto port = TcpPort::open({"127.0.0.1", 0}, echo_, sessions_);
    ASSERT_TRUE(ok(port));
    std::vector<std::unique_ptr<runtime::ByteStream>> clients;
    for (size_t i = 0; i <= TcpPort::kMaxUnconfirmed; ++i) clients.push_back(connect(**port));
    EXPECT_EQ(read(*clients.front(), 1), "(end)");
    EXPECT_EQ((*port)->counters().replaced, 1u);
    EXPECT_EQ((*port)->connections(), TcpPort::kMaxUnconfirmed);
    ASSERT_TRUE(ok(clients.back()->write(bytes(framed("who?")), Deadline::in_ms(5000))));
    EXPECT_EQ(read(*clients.back(), 9), framed("[") + framed("who?"));
}

TEST_F(PortsTest, AFloodOfSmallFramesIsReadInTurns) {
    class Counting final : public WireUser {
      public:
        void on_datagram(std::span<uint8_t>, const base::Endpoint&, Wire&, int64_t) override { ++frames; }
        void on_wire_closed(Wire&) override {}
        size_t frames = 0;
    } counting;
    auto port = TcpPort::open({"127.0.0.1", 0}, counting, sessions_);
    ASSERT_TRUE(ok(port));
    auto stream = connect(**port);
    std::string flood;
    for (int i = 0; i < 100'000; ++i) flood += framed("ab");
    size_t sent = 0, most = 0;
    for (size_t before = 0; counting.frames < 100'000; before = counting.frames) {
        auto n = stream->try_write(bytes(std::string_view(flood).substr(sent)));
        ASSERT_TRUE(ok(n));
        sent += *n;
        ASSERT_TRUE(ok(runtime::yield()));
        most = std::max(most, counting.frames - before);
    }
    // The event arrives while this coroutine waits to be scheduled, and so does what it posts, several times.
    EXPECT_LE(most, 6u * 16 * 1024 / 4);
}

TEST_F(PortsTest, WhoDoesNotReadLosesDatagramsAndNothingGrows) {
    class Flood final : public WireUser {
      public:
        void on_datagram(std::span<uint8_t>, const base::Endpoint& from, Wire& wire, int64_t) override {
            const std::array<uint8_t, 1200> packet{};
            for (int i = 0; i < 20'000; ++i) sent += wire.send(packet, from);
            congested = wire.congested();
        }
        void on_wire_closed(Wire&) override {}
        int sent = 0;
        bool congested = false;
    } flood;
    auto port = TcpPort::open({"127.0.0.1", 0}, flood, sessions_);
    ASSERT_TRUE(ok(port));
    auto stream = connect(**port);
    ASSERT_TRUE(ok(stream->write(bytes(framed("go")), Deadline::in_ms(5000))));
    for (int i = 0; i < 1000 && flood.sent == 0; ++i) ASSERT_TRUE(ok(runtime::sleep_ms(2)));
    EXPECT_TRUE(flood.congested);
    EXPECT_LT(flood.sent, 20'000);
    EXPECT_EQ((*port)->counters().dropped, 20'000u - static_cast<unsigned>(flood.sent));
    // Datagrams that were accepted arrive completely.
    size_t got = 0;
    std::array<uint8_t, 65536> buffer;
    while (got < static_cast<size_t>(flood.sent) * 1202) {
        auto n = stream->read(buffer, Deadline::in_ms(5000));
        ASSERT_TRUE(ok(n));
        ASSERT_GT(*n, 0u);
        got += *n;
    }
    EXPECT_EQ(got, static_cast<size_t>(flood.sent) * 1202);
}

TEST(WireUsers, HearOfTheEndOnce) {
    WireUsers users;
    auto* one = reinterpret_cast<RtcSession*>(8);
    auto* two = reinterpret_cast<RtcSession*>(16);
    const auto* wire = reinterpret_cast<const Wire*>(24);
    const auto* other = reinterpret_cast<const Wire*>(32);
    users.add(*wire, *one);
    users.add(*wire, *one);
    users.add(*wire, *two);
    users.add(*other, *two);
    EXPECT_EQ(users.size(), 3u);
    EXPECT_EQ(users.take(*wire), (std::vector<RtcSession*>{one, two}));
    EXPECT_TRUE(users.take(*wire).empty());
    users.add(*wire, *two);
    users.forget(*two);
    users.forget(*one);
    EXPECT_EQ(users.size(), 0u);
    EXPECT_TRUE(users.take(*other).empty());
}

}  // namespace
}  // namespace service::rtc

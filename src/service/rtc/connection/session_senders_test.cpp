// What a session leaves to a sender thread, which sends to a socket of the test.

#include <gtest/gtest.h>

#include "runtime/senders/senders.h"
#include "runtime/socket/datagram_port.h"
#include "service/rtc/connection/session_testing.h"

namespace service::rtc {
namespace {

using base::CloseReason;
using testing::Bytes;
using testing::SessionTest;

// A session whose datagrams a sender thread may send, to a socket of the test.
class LentSessionTest : public SessionTest, private runtime::DatagramUser {
  protected:
    void SetUp() override {
        SessionTest::SetUp();
        runtime::install_senders(std::move(*runtime::Senders::start(1, runtime::Senders::Mode::kManual)));
        port_ = std::move(*runtime::DatagramPort::open({"127.0.0.1", 0}, {}, "test", *this));
        receiver_ = std::move(*runtime::bind_udp({"127.0.0.1", 0}));
        address_ = {*base::IpAddress::parse("127.0.0.1"), receiver_->port()};
        wire_.port = port_.get();
        begin({.publishes = false});
        connect();
    }
    void TearDown() override {
        session_.reset();
        port_.reset();
        runtime::stop_senders();
    }
    runtime::Senders& threads() { return *runtime::senders(); }
    void send(uint16_t sequence, std::string_view payload) {
        payloads_.push_back(base::Slice::copy(payload));
        const Bytes header = {
            0x80, 97, static_cast<uint8_t>(sequence >> 8), static_cast<uint8_t>(sequence), 0, 0, 0, 2, 0, 0, 0, 8};
        session_->send_rtp(header, {}, payloads_.back(), sequence);
    }
    // What was sent from the port, as text: "hello", "bye", "dtls".
    std::string arrived(size_t count) {
        std::string text;
        while (count > 0) {
            auto got = receiver_->receive_batch(runtime::Deadline::in_ms(5000));
            if (!got) return text + got.error().describe();
            for (const runtime::UdpPacket& packet : *got) {
                --count;
                text += text_of(packet.bytes) + " ";
            }
        }
        return text;
    }

    std::unique_ptr<runtime::DatagramPort> port_;
    std::unique_ptr<runtime::UdpSocket> receiver_;
    std::vector<base::Slice> payloads_;  // until the test's end

  private:
    std::string text_of(std::span<uint8_t> packet) {
        switch (stun::packet_kind(packet)) {
            case stun::Packet::kDtls:
                return "dtls";
            case stun::Packet::kRtcp:
                return from_session_->unprotect_rtcp(packet) ? "bye" : "refused";
            default:
                const auto opened = from_session_->unprotect_rtp(packet);
                return opened ? std::string(packet.begin() + 12, packet.begin() + static_cast<ptrdiff_t>(*opened))
                              : "refused";
        }
    }
    void on_datagram(const runtime::UdpPacket&, runtime::DatagramPort&, int64_t) override {}
};

TEST_F(LentSessionTest, AThreadSendsWhatIsOneOfManySends) {
    send(1, "alone");
    EXPECT_EQ(wire_.sent.size(), 1u) << "by the loop";
    {
        const runtime::RecordRound round(32);
        send(2, "two");
        send(3, "three");
    }
    send(4, "four");
    EXPECT_EQ(wire_.sent.size(), 1u) << "the thread has work: nothing overtakes it";
    EXPECT_EQ(threads().run(0), 3u);
    EXPECT_EQ(arrived(3), "two three four ");
    send(5, "five");
    EXPECT_EQ(wire_.sent.size(), 2u) << "by the loop again";
}

TEST_F(LentSessionTest, FarewellsFollowTheLastMedia) {
    {
        const runtime::RecordRound round(32);
        send(1, "last");
    }
    session_->end("the stream ended", CloseReason::kStreamEnded);
    session_->close();
    session_.reset();
    EXPECT_TRUE(wire_.sent.empty());
    EXPECT_EQ(threads().run(0), 3u);
    EXPECT_EQ(arrived(3), "last bye dtls ");
}

TEST_F(LentSessionTest, WhatTheLoopCommittedIsSentBefore) {
    ASSERT_TRUE(port_->send(Bytes{20, 254, 253, 1}, address_));
    {
        const runtime::RecordRound round(32);
        send(1, "one");
    }
    (void)threads().run(0);
    EXPECT_EQ(arrived(2), "dtls one ");
}

TEST_F(LentSessionTest, ReportsThatItsThreadHasMuchToDo) {
    const runtime::RecordRound round(32);
    EXPECT_EQ(session_->room(), MediaSession::Room::kNow);
    uint16_t sent = 0;
    while (session_->room() == MediaSession::Room::kNow) send(++sent, "x");
    EXPECT_EQ(session_->room(), MediaSession::Room::kSoon);
    (void)threads().run(0);
    EXPECT_EQ(session_->room(), MediaSession::Room::kNow);
}

}  // namespace
}  // namespace service::rtc

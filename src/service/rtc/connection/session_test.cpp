#include "service/rtc/connection/session.h"

#include <gtest/gtest.h>

#include "protocol/stun/writer.h"
#include "service/rtc/connection/session_testing.h"

namespace service::rtc {
namespace {

using base::CloseReason;
using testing::Bytes;
using testing::kAway;
using testing::kHome;
using testing::kServer;
using testing::SessionTest;

TEST_F(SessionTest, FromTheOfferToMediaBothWays) {
    begin({});
    EXPECT_FALSE(session_->connected());
    connect();
    EXPECT_EQ(connections_, 1);
    EXPECT_EQ(seen_.connected, 1);
    EXPECT_TRUE(wire_.confirmed);
    Bytes packet = protected_rtp(1, "hello");
    session_->on_rtp(packet, address_, now_ms_ * 1000);
    ASSERT_EQ(seen_.rtp.size(), 1u);
    EXPECT_EQ(std::string(seen_.rtp[0].begin() + 12, seen_.rtp[0].end()), "hello");
    EXPECT_EQ(copied_, 1);
    // The same packet again is a replay, and a modified one is rejected.
    packet = protected_rtp(1, "hello");
    session_->on_rtp(packet, address_, now_ms_ * 1000);
    packet = protected_rtp(2, "world");
    packet[13] ^= 1;
    session_->on_rtp(packet, address_, now_ms_ * 1000);
    EXPECT_EQ(seen_.rtp.size(), 1u);
    EXPECT_EQ(session_->counters().refused, 2u);

    const Bytes header = {0x80, 97, 0, 5, 0, 0, 0, 2, 0, 0, 0, 8};
    const Bytes first = {0, 4}, second = {1, 2, 3};
    session_->send_rtp(header, first, second, 5);
    run(10);
    ASSERT_EQ(to_peer_.size(), 1u);
    auto opened = from_session_->unprotect_rtp(to_peer_[0]);
    ASSERT_TRUE(opened);
    EXPECT_EQ(Bytes(to_peer_[0].begin(), to_peer_[0].begin() + static_cast<ptrdiff_t>(*opened)),
              (Bytes{0x80, 97, 0, 5, 0, 0, 0, 2, 0, 0, 0, 8, 0, 4, 1, 2, 3}));
    seen_.ticks = 0;
    run(1000);
    EXPECT_GE(seen_.ticks, 8);
    EXPECT_LE(seen_.ticks, 11);
    // Sooner for once, from now on and not from the last tick.
    run(120);
    seen_.ticks = 0;
    seen_.tick_ms = 20;
    session_->tick_sooner(now_ms_);
    run(19);
    EXPECT_EQ(seen_.ticks, 0);
    seen_.tick_ms = 100;
    run(6);
    EXPECT_EQ(seen_.ticks, 1);
}

TEST_F(SessionTest, IsAConnectionOnceItIsConnected) {
    begin({});
    EXPECT_EQ(table_.admission().connections(), 0u);
    connect();
    EXPECT_EQ(table_.admission().connections(), 1u);
    session_.reset();
    EXPECT_EQ(table_.admission().connections(), 0u);
}

TEST_F(SessionTest, EndsWhereThereIsNoRoomForAConnection) {
    full_ = true;
    begin({});
    for (int i = 0; i < 200 && !ended_; ++i) run(10);
    EXPECT_TRUE(session_->ended());
    EXPECT_EQ(session_->end_text(), "full");
    EXPECT_EQ(seen_.connected, 0);
}

TEST_F(SessionTest, AnswersComeFromWhereItWasAskedAndMediaFromWhatWasNominated) {
    begin({});
    wire_.usual = 1;
    wire_.asked_at = 2;
    connect();
    EXPECT_EQ(wire_.last_source, 2);
    EXPECT_EQ(wire_.asked_kernel, 1);
    auto media_from = [&] {
        session_->send_rtcp(Bytes{0x80, 201, 0, 1, 0, 0, 0, 7});
        return wire_.last_source;
    };
    auto ask = [&](uint16_t at, bool nominate) {
        wire_.asked_at = at;
        uint8_t room[256];
        stun::Writer writer(room, stun::Class::kRequest, {1});
        const auto& local = session_->agent().local();
        writer.username(local.ufrag + ":" + std::string(session_->agent().remote_ufrag()));
        writer.controlling(5);
        if (nominate) writer.use_candidate();
        const size_t size = writer.finish(local.password);
        session_->on_stun({room, size}, kHome, wire_, now_ms_);
        return wire_.last_source;
    };
    EXPECT_EQ(media_from(), 2);
    // Another pair of addresses is checked: it is answered from there, and media is unaffected.
    EXPECT_EQ(ask(3, false), 3);
    EXPECT_EQ(media_from(), 2);
    EXPECT_EQ(ask(3, true), 3);
    EXPECT_EQ(media_from(), 3);
    EXPECT_EQ(ask(1, true), 1);
    // That is the kernel's default, and the kernel is asked only once.
    EXPECT_EQ(media_from(), 0);
    EXPECT_EQ(ask(1, true), 0);
    EXPECT_EQ(wire_.asked_kernel, 3);
}

TEST_F(SessionTest, WeMayLeadTheHandshake) {
    begin({.role = dtls::Role::kClient});
    connect();
    Bytes packet = protected_rtp(1, "hello");
    session_->on_rtp(packet, address_, now_ms_ * 1000);
    EXPECT_EQ(seen_.rtp.size(), 1u);
}

TEST_F(SessionTest, AnotherCertificateThanTheOffersEndsIt) {
    begin({.right_fingerprint = false});
    run(500);
    EXPECT_TRUE(ended_);
    EXPECT_FALSE(session_->connected());
    EXPECT_EQ(seen_.connected, 0);
}

TEST_F(SessionTest, AHalfOpenOneIsGoneAfterTenSeconds) {
    begin({});
    mute_ = true;
    run(RtcSession::kHalfOpenMs - 100);
    EXPECT_FALSE(ended_);
    run(200);
    EXPECT_TRUE(ended_);
    EXPECT_NE(session_->end_text().find("no STUN request within 10000 ms"), std::string::npos);
    session_->close();
    EXPECT_EQ(table_.closed().newest(0).reason, CloseReason::kPeerTimeout);
}

TEST_F(SessionTest, AHandshakeThatStopsIsGoneToo) {
    begin({.role = dtls::Role::kClient});
    deaf_ = true;  // the peer receives nothing from us
    run(RtcSession::kHalfOpenMs + 100);
    EXPECT_TRUE(ended_);
    EXPECT_NE(session_->end_text().find("DTLS"), std::string::npos) << session_->end_text();
    // Data was sent only to the address with valid requests.
    EXPECT_EQ(wire_.bytes_to.size(), 1u);
}

TEST_F(SessionTest, SilenceEndsIt) {
    begin({});
    connect();
    run(60'000);
    EXPECT_FALSE(ended_) << session_->end_text();  // the peer sends its connectivity checks
    mute_ = true;
    run(23'000);  // the last check is at most 6 s old
    EXPECT_FALSE(ended_) << session_->end_text();
    run(7'500);
    EXPECT_TRUE(ended_);
    EXPECT_NE(session_->end_text().find("stun_timeout"), std::string::npos);
}

// Whatever stun_timeout is, consent ends 30 s after the last authenticated packet (RFC 7675, 5.1), and returns with the
// next one.
TEST_F(SessionTest, WithoutConsentNothingIsSent) {
    silent_ms_ = 3'600'000;
    begin({});
    connect();
    const Bytes header = {0x80, 97, 0, 5, 0, 0, 0, 2, 0, 0, 0, 8};
    uint64_t index = 0;
    auto sends = [&] {
        const size_t before = wire_.bytes_to[address_];
        session_->send_rtp(header, {}, header, ++index);
        session_->send_rtcp(header);
        return wire_.bytes_to[address_] > before;
    };
    mute_ = true;
    run(23'000);
    EXPECT_TRUE(sends());
    run(8'000);
    EXPECT_FALSE(sends());
    run(600'000);
    EXPECT_FALSE(sends());
    EXPECT_FALSE(ended_);
    Bytes packet = protected_rtp(1, "here");
    session_->on_rtp(packet, address_, now_ms_ * 1000);
    EXPECT_TRUE(sends());
    run(40'000);
    EXPECT_FALSE(sends());
    mute_ = false;
    run(8'000);
    EXPECT_TRUE(sends());
}

TEST_F(SessionTest, MediaThatIsRightIsLifeToo) {
    begin({});
    connect();
    mute_ = true;
    for (uint16_t i = 1; i < 60; ++i) {
        Bytes packet = protected_rtp(i, "x");
        session_->on_rtp(packet, address_, now_ms_ * 1000);
        run(1000);
    }
    EXPECT_FALSE(ended_) << session_->end_text();
}

TEST_F(SessionTest, TheFarewellOfDtlsEndsIt) {
    begin({});
    connect();
    dtls_->close();
    send_dtls();
    EXPECT_TRUE(ended_);
    session_->close();
    EXPECT_EQ(table_.closed().newest(0).reason, CloseReason::kPeerClosed);
    EXPECT_EQ(seen_.closed, 1);
}

TEST_F(SessionTest, ItSaysFarewellItself) {
    begin({});
    connect();
    session_->kick("by an operator");
    EXPECT_TRUE(ended_);
    Bytes packet = protected_rtp(1, "late");
    session_->on_rtp(packet, address_, now_ms_ * 1000);
    EXPECT_TRUE(seen_.rtp.empty());
    session_->close();
    EXPECT_EQ(seen_.closed, 1);
    ended_ = false;
    talk();
    ASSERT_EQ(to_peer_.size(), 1u);  // RTCP BYE
    EXPECT_TRUE(from_session_->unprotect_rtcp(to_peer_[0]));
    EXPECT_TRUE(dtls_->closed());
    EXPECT_EQ(table_.closed().newest(0).reason, CloseReason::kKicked);
}

TEST_F(SessionTest, GoesOnAtAnotherAddress) {
    begin({});
    connect();
    address_ = kAway;
    run(20'000);
    EXPECT_FALSE(ended_);
    wire_.bytes_to.clear();
    const Bytes header = {0x80, 97, 0, 5, 0, 0, 0, 2, 0, 0, 0, 8};
    session_->send_rtp(header, {}, header, 5);
    EXPECT_EQ(wire_.bytes_to.count(kAway), 1u);
    EXPECT_EQ(wire_.bytes_to.count(kHome), 0u);
    EXPECT_EQ(routes_.size(), 2u);
    session_.reset();
    EXPECT_TRUE(routes_.empty());
}

// Its NAT has given the peer another port, and it does not know.
TEST_F(SessionTest, FollowsWhatDecryptsWhenThePeerAnswersThere) {
    begin({});
    connect();
    run(1000);
    wire_.bytes_to.clear();
    address_ = kAway;
    Bytes packet = protected_rtp(1, "hello");
    EXPECT_TRUE(session_->may_have_moved(now_ms_));
    ASSERT_TRUE(session_->on_moved(packet, kAway, wire_, now_ms_ * 1000));
    EXPECT_FALSE(session_->may_have_moved(now_ms_ + 5)) << "nothing else is tried with its keys";
    ASSERT_EQ(seen_.rtp.size(), 1u);
    EXPECT_TRUE(routes_.contains(kAway));
    EXPECT_EQ(*session_->agent().selected(), kHome);
    EXPECT_LE(wire_.bytes_to[kAway], ice::kMaxCheckSize);
    run(10);
    EXPECT_EQ(*session_->agent().selected(), kAway);
    const Bytes header = {0x80, 97, 0, 5, 0, 0, 0, 2, 0, 0, 0, 8};
    session_->send_rtp(header, {}, header, 5);
    EXPECT_EQ(wire_.bytes_to.count(kHome), 0u);
    session_.reset();
    EXPECT_TRUE(routes_.empty());
}

// A captured packet may come from any address before the original does.
TEST_F(SessionTest, SendsOnlyChecksWhereNobodyAnswers) {
    begin({});
    connect();
    run(1000);
    Bytes packet = protected_rtp(1, "hello");
    Bytes replayed = packet, forged = packet;
    forged[20] ^= 1;
    EXPECT_FALSE(session_->on_moved(forged, kAway, wire_, now_ms_ * 1000));
    ASSERT_TRUE(session_->on_moved(packet, kAway, wire_, now_ms_ * 1000));
    EXPECT_FALSE(session_->on_moved(replayed, kAway, wire_, now_ms_ * 1000));
    wire_.sent.clear();
    size_t least = wire_.bytes_to[kAway];
    for (uint16_t i = 2; i < 200; ++i) {
        run(20);
        packet = protected_rtp(i, "hello");
        EXPECT_TRUE(session_->on_rtp(packet, kAway, now_ms_ * 1000));
    }
    EXPECT_EQ(wire_.bytes_to[kAway], 5 * least);
    EXPECT_EQ(*session_->agent().selected(), kHome);
    EXPECT_EQ(session_->counters().refused, 0u);
    // Another one replaces it; and a request of the peer's own makes it an address like all others.
    packet = protected_rtp(200, "hello");
    const base::Endpoint third{kAway.ip, 5001};
    ASSERT_TRUE(session_->on_moved(packet, third, wire_, now_ms_ * 1000));
    EXPECT_FALSE(routes_.contains(kAway));
    EXPECT_TRUE(routes_.contains(third));
    wire_.sent.clear();
    address_ = third;
    run(12'000);
    EXPECT_EQ(*session_->agent().selected(), third);
}

TEST_F(SessionTest, DoesNotMoveInTheClear) {
    begin({.encrypt = false});
    run(1000);
    Bytes packet = {0x80, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 'h', 'i'};
    session_->on_rtp(packet, address_, now_ms_ * 1000);
    ASSERT_EQ(seen_.rtp.size(), 1u);
    EXPECT_FALSE(session_->may_have_moved(now_ms_ + 1000));
}

TEST_F(SessionTest, WrongIntegrityIsAnsweredByNoMoreThanItSent) {
    begin({});
    ice::ClientOptions options;
    options.remote = session_->agent().local();
    options.remote.password = "this is not the password";
    options.local = ice::Credentials::make(std::array<uint8_t, 32>{7});
    ice::Client stranger(options);
    stranger.add_remote(kServer);
    size_t sent = 0;
    for (int i = 0; i < 3000; ++i, ++now_ms_) {
        while (auto check = stranger.poll(now_ms_)) {
            sent += check->bytes.size();
            session_->on_stun(check->bytes, kAway, wire_, now_ms_);
        }
    }
    EXPECT_GT(sent, 0u);
    EXPECT_LE(wire_.bytes_to[kAway], sent);
    EXPECT_TRUE(routes_.empty());
    EXPECT_FALSE(wire_.confirmed);
    EXPECT_GT(session_->counters().refused, 0u);
}

TEST_F(SessionTest, RestartKeepsTheOldUntilTheNewWorks) {
    begin({});
    connect();
    const std::string old_ufrag = session_->agent().local().ufrag;
    std::array<uint8_t, 32> random;
    random.fill(99);
    std::array<uint8_t, 32> others;
    others.fill(55);
    const auto ours = ice::Credentials::make(random);
    const auto theirs = ice::Credentials::make(others);
    session_->restart(ours, theirs.ufrag, theirs.password, "etag2");
    run(8'000);
    EXPECT_FALSE(ended_);
    EXPECT_TRUE(removed_ufrags_.empty());
    client_->restart(theirs, ours);
    client_->add_remote(kServer);
    run(1'000);
    EXPECT_EQ(removed_ufrags_, std::vector<std::string>{old_ufrag});
    EXPECT_EQ(session_->agent().local().ufrag, ours.ufrag);
    EXPECT_EQ(session_->etag(), "etag2");
}

TEST_F(SessionTest, WithoutEncryptionForWhoDebugs) {
    begin({.encrypt = false});
    run(500);
    EXPECT_TRUE(session_->connected());
    Bytes packet = {0x80, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 'h', 'i'};
    session_->on_rtp(packet, address_, now_ms_ * 1000);
    ASSERT_EQ(seen_.rtp.size(), 1u);
    session_->send_rtp(packet, {}, {}, 1);
    run(10);
    ASSERT_EQ(to_peer_.size(), 1u);
    EXPECT_EQ(to_peer_[0], packet);
}

TEST_F(SessionTest, LosesWhatAPublisherSendsForATest) {
    begin({});
    connect();
    session_->lose(2);
    for (uint16_t sequence : {1, 2, 3, 1}) {
        Bytes packet = protected_rtp(sequence, "hello");
        EXPECT_TRUE(session_->on_rtp(packet, address_, now_ms_ * 1000)) << "a dropped packet may be retransmitted";
    }
    EXPECT_EQ(seen_.rtp.size(), 2u);
}

TEST_F(SessionTest, LosesWhatAPlayerIsSentForATest) {
    begin({.encrypt = false, .publishes = false});
    run(500);
    session_->lose(2);
    for (uint8_t sequence : {1, 2, 3}) {
        const Bytes packet = {0x80, 96, 0, sequence, 0, 0, 0, 1, 0, 0, 0, 9, 'h', 'i'};
        session_->send_rtp(packet, {}, {}, sequence);
    }
    run(10);
    ASSERT_EQ(to_peer_.size(), 1u);
    EXPECT_EQ(to_peer_[0][3], 3);
}

TEST_F(SessionTest, MediaBeforeTheHandshakeIsNobodys) {
    begin({});
    Bytes packet = {0x80, 96, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9, 'h', 'i'};
    session_->on_rtp(packet, address_, now_ms_ * 1000);
    EXPECT_TRUE(seen_.rtp.empty());
    EXPECT_EQ(session_->counters().refused, 1u);
    session_->send_rtp(packet, {}, {}, 1);
    EXPECT_TRUE(wire_.sent.empty());
}

}  // namespace
}  // namespace service::rtc

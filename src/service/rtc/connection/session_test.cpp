// A session with a peer made of ice::Client, dtls::Endpoint and SRTP; the test provides wires and clock.

#include "service/rtc/connection/session.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "protocol/ice/testing/client.h"
#include "protocol/stun/demux.h"
#include "protocol/stun/writer.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/datagram_port.h"
#include "runtime/threads/senders.h"
#include "service/rtc/connection/routes.h"

namespace service::rtc {
namespace {

using base::CloseReason;
using Bytes = std::vector<uint8_t>;

const base::Endpoint kServer{*base::IpAddress::parse("192.0.2.1"), 8000};
const base::Endpoint kHome{*base::IpAddress::parse("198.51.100.7"), 4000};
const base::Endpoint kAway{*base::IpAddress::parse("203.0.113.9"), 5000};

// Records the datagrams sent, and the bytes per destination.
class TestWire final : public Wire {
  public:
    uint8_t* reserve(size_t most) override {
        room_.assign(most, 0);
        return room_.data();
    }
    void commit(size_t bytes, const base::Endpoint& to, uint32_t, uint16_t source) override {
        last_source = source;
        sent.push_back({to, Bytes(room_.begin(), room_.begin() + static_cast<ptrdiff_t>(bytes))});
        bytes_to[to] += bytes;
    }
    void confirm() override { confirmed = true; }
    bool congested() const override { return false; }
    uint16_t destination() const override { return asked_at; }
    uint16_t source_for(const base::Endpoint&, uint16_t destination) override {
        ++asked_kernel;
        return destination == usual ? uint16_t{0} : destination;
    }

    runtime::DatagramPort* shared_port() override { return port; }

    runtime::DatagramPort* port = nullptr;
    uint16_t asked_at = 0, usual = 0, last_source = 0;  // our addresses, by number
    int asked_kernel = 0;
    std::deque<std::pair<base::Endpoint, Bytes>> sent;
    std::map<base::Endpoint, size_t> bytes_to;
    bool confirmed = false;

  private:
    Bytes room_;
};

struct Seen {
    int connected = 0, ticks = 0, closed = 0;
    int64_t tick_ms = 100;
    std::vector<Bytes> rtp, rtcp;
};

class TestMedia final : public Media {
  public:
    TestMedia(Seen& seen, MediaSession& session) : seen_(seen), session_(session) {}
    void on_connected(int64_t) override { ++seen_.connected; }
    void on_rtp(std::span<uint8_t> packet, int64_t) override { seen_.rtp.emplace_back(packet.begin(), packet.end()); }
    void on_rtcp(std::span<uint8_t> packet, int64_t) override { seen_.rtcp.emplace_back(packet.begin(), packet.end()); }
    void on_tick(int64_t) override { ++seen_.ticks; }
    int64_t tick_ms() const override { return seen_.tick_ms; }
    void on_closed() override {
        ++seen_.closed;
        const Bytes bye = {0x81, 203, 0, 1, 0, 0, 0, 7};
        session_.send_rtcp(bye);
    }
    std::string describe() const override { return "nothing"; }
    net::RtcQuality quality() const override { return {}; }

  private:
    Seen& seen_;
    MediaSession& session_;
};

std::shared_ptr<const dtls::Context> context() {
    static const auto made = *dtls::Context::make(*dtls::Certificate::make(dtls::KeyKind::kEcdsa));
    return made;
}
std::shared_ptr<const dtls::Context> peer_context() {
    static const auto made = *dtls::Context::make(*dtls::Certificate::make(dtls::KeyKind::kEcdsa));
    return made;
}

class SessionTest : public runtime::testing::RuntimeTest, public SessionHost {
  protected:
    struct How {
        bool encrypt = true;
        bool publishes = true;
        dtls::Role role = dtls::Role::kServer;
        bool right_fingerprint = true;
    };
    void begin(How how) {
        std::array<uint8_t, 32> random{};
        std::array<uint8_t, 32> other;
        other.fill(7);
        SessionSetup setup;
        setup.id = "abcd1234";
        setup.ip = "198.51.100.7";
        setup.publishes = how.publishes;
        setup.key = {"v", "live", "s"};
        setup.credentials = ice::Credentials::make(random);
        setup.encrypt = how.encrypt;
        setup.silent_ms = silent_ms_;
        ice::ClientOptions options;
        options.remote = setup.credentials;
        options.local = ice::Credentials::make(other);
        client_.emplace(options);
        client_->add_remote(kServer);
        session_ = std::make_unique<RtcSession>(*this, table_, std::move(setup), now_ms_);
        RemoteSetup remote;
        remote.ufrag = options.local.ufrag;
        const std::string& text = (how.right_fingerprint ? peer_context() : context())->certificate().fingerprint();
        remote.fingerprint_algorithm = text.substr(0, text.find(' '));
        remote.fingerprint = text.substr(text.find(' ') + 1);
        remote.role = how.role;
        remote.context = context();
        ASSERT_TRUE(runtime::testing::ok(session_->set_remote(remote)));
        session_->set_media(std::make_unique<TestMedia>(seen_, *session_));
        due_ms_ = session_->on_timer(now_ms_);
        const bool peer_leads = how.role == dtls::Role::kServer;
        dtls_.emplace(peer_context(), peer_leads ? dtls::Role::kClient : dtls::Role::kServer);
        dtls_->accept_any_certificate();
        leads_ = peer_leads && how.encrypt;
    }

    // Exchanges datagrams for that long, from the peer's address.
    void run(int64_t ms) {
        for (const int64_t until = now_ms_ + ms; now_ms_ < until; now_ms_ += 5) {
            for (int turn = 0; turn < 20; ++turn) {
                if (!talk()) break;
            }
            if (ended_) return;
            if (now_ms_ >= due_ms_) {
                due_ms_ = INT64_MAX;
                due_ms_ = std::min(due_ms_, session_->on_timer(now_ms_));
            }
        }
    }
    bool talk() {
        bool any = false;
        while (!mute_) {
            auto check = client_->poll(now_ms_);
            if (!check) break;
            any = true;
            received_from_[address_] += check->bytes.size();
            session_->on_stun(check->bytes, address_, wire_, now_ms_);
        }
        if (leads_ && client_->selected() && !mute_) {
            leads_ = false;
            dtls_->start(now_ms_);
        }
        if (now_ms_ >= dtls_->timeout_ms() && !mute_) dtls_->on_timeout(now_ms_);
        any |= send_dtls();
        if (deaf_) wire_.sent.clear();
        while (!wire_.sent.empty()) {
            any = true;
            auto [to, bytes] = wire_.sent.front();
            wire_.sent.pop_front();
            if (to != address_) continue;
            const stun::Packet kind = stun::packet_kind(bytes);
            if (kind == stun::Packet::kStun) client_->on_datagram(bytes, kServer, now_ms_);
            if (kind == stun::Packet::kDtls) dtls_->on_datagram(bytes, now_ms_);
            if (kind == stun::Packet::kRtp || kind == stun::Packet::kRtcp) to_peer_.push_back(bytes);
        }
        return any;
    }
    bool send_dtls() {
        bool any = false;
        for (auto datagram = dtls_->next_datagram(); !datagram.empty() && !mute_; datagram = dtls_->next_datagram()) {
            any = true;
            // Like the service: nothing is passed from an address without a valid request.
            if (routes_.contains(address_)) session_->on_dtls(datagram, address_, wire_, now_ms_);
        }
        return any;
    }
    void take_keys() {
        auto keys = dtls_->take_srtp_keys();
        ASSERT_TRUE(keys);
        to_session_.emplace(keys->profile, keys->local);
        from_session_.emplace(keys->profile, keys->remote);
    }
    Bytes protected_rtp(uint16_t sequence, std::string_view payload) {
        const Bytes header = {
            0x80, 96, static_cast<uint8_t>(sequence >> 8), static_cast<uint8_t>(sequence), 0, 0, 0, 1, 0, 0, 0, 9};
        Bytes out(header.size() + payload.size() + srtp::kMaxOverhead);
        out.resize(to_session_->protect_rtp(header, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()},
                                            sequence, out.data()));
        return out;
    }
    void connect() {
        run(500);
        ASSERT_TRUE(session_->connected()) << session_->end_text();
        take_keys();
    }

    // SessionHost
    void add_route(const base::Endpoint& from, const Wire&, RtcSession&, int64_t, int64_t) override {
        routes_.insert(from);
    }
    void remove_route(const base::Endpoint& from, const Wire&, const RtcSession&) override { routes_.erase(from); }
    void remove_ufrag(std::string_view ufrag) override { removed_ufrags_.emplace_back(ufrag); }
    void session_connected(RtcSession&) override { ++connections_; }
    base::Result<net::Admission::Ticket> admit(const base::IpAddress& ip) override {
        if (full_) return base::fail(base::Code::kLimit, "full");
        return net::Admission::Ticket(table_.admission(), ip);
    }
    void end_soon(RtcSession&) override { ended_ = true; }
    void set_due(RtcSession&, int64_t due_ms) override { due_ms_ = std::min(due_ms_, due_ms); }
    void copy_out(std::span<const uint8_t>) override { ++copied_; }

    int64_t now_ms_ = 1'000'000;
    int64_t due_ms_ = INT64_MAX;
    int64_t silent_ms_ = 30'000;
    net::SessionTable table_;
    TestWire wire_;
    std::set<base::Endpoint> routes_;
    std::map<base::Endpoint, size_t> received_from_;
    std::vector<std::string> removed_ufrags_;
    Seen seen_;
    std::unique_ptr<RtcSession> session_;
    std::optional<ice::Client> client_;
    std::optional<dtls::Endpoint> dtls_;
    std::optional<srtp::Sender> to_session_;
    std::optional<srtp::Receiver> from_session_;
    std::deque<Bytes> to_peer_;
    base::Endpoint address_ = kHome;
    bool full_ = false;
    bool leads_ = false, mute_ = false, deaf_ = false, ended_ = false;
    int connections_ = 0, copied_ = 0;
};

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
        const runtime::ExpectedSends expected(8);
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
        const runtime::ExpectedSends expected(8);
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
        const runtime::ExpectedSends expected(8);
        send(1, "one");
    }
    (void)threads().run(0);
    EXPECT_EQ(arrived(2), "dtls one ");
}

TEST_F(LentSessionTest, ReportsThatItsThreadHasMuchToDo) {
    const runtime::ExpectedSends expected(8);
    EXPECT_EQ(session_->room(), MediaSession::Room::kNow);
    uint16_t sent = 0;
    while (session_->room() == MediaSession::Room::kNow) send(++sent, "x");
    EXPECT_EQ(session_->room(), MediaSession::Room::kSoon);
    (void)threads().run(0);
    EXPECT_EQ(session_->room(), MediaSession::Room::kNow);
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
        writer.username(local.ufrag + ":" + session_->agent().remote_ufrag());
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
    session_->restart(ours, theirs.ufrag, "etag2");
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

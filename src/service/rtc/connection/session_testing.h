#pragma once
// A session with a peer made of ice::Client, dtls::Endpoint and SRTP; the test provides wires and clock.

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protocol/ice/testing/client.h"
#include "protocol/stun/demux.h"
#include "protocol/stun/writer.h"
#include "runtime/loop/testing.h"
#include "service/rtc/connection/routes.h"
#include "service/rtc/connection/session.h"

namespace service::rtc::testing {

using base::CloseReason;
using Bytes = std::vector<uint8_t>;

inline const base::Endpoint kServer{*base::IpAddress::parse("192.0.2.1"), 8000};
inline const base::Endpoint kHome{*base::IpAddress::parse("198.51.100.7"), 4000};
inline const base::Endpoint kAway{*base::IpAddress::parse("203.0.113.9"), 5000};

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

inline std::shared_ptr<const dtls::Context> context() {
    static const auto made = *dtls::Context::make(*dtls::Certificate::make(dtls::KeyKind::kEcdsa));
    return made;
}
inline std::shared_ptr<const dtls::Context> peer_context() {
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
        remote.password = options.local.password;
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

}  // namespace service::rtc::testing

#pragma once
// RtcSession: one WebRTC client, a publisher or a player, from its offer to its end: ICE (protocol/ice), then DTLS,
// then SRTP, over any address that the peer has proved to be its own. It has no coroutine: the service passes datagrams
// and time to it. The media is handled by its Media (media.h).
//
// An address that has not sent a STUN request with valid integrity gets nothing but answers to STUN, which are no
// longer than the requests. What the peer has encrypted is taken from any address: its NAT may have given it another
// one without its knowledge. Such an address gets checks of ours, kMaxAsked at most, each for a packet that came from
// there; media goes there once the peer has answered one. RFC 8445 (lite), 5764 (DTLS-SRTP), 7675 (consent). It does no
// signalling.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "live/hub/stream.h"
#include "net/access/gate.h"
#include "net/admission/address_quota.h"
#include "net/sessions/session.h"
#include "protocol/dtls/endpoint.h"
#include "protocol/ice/lite_agent.h"
#include "protocol/srtp/receiver.h"
#include "protocol/srtp/sender.h"
#include "runtime/senders/senders.h"
#include "service/rtc/connection/srtp_route.h"
#include "service/rtc/connection/wire.h"
#include "service/rtc/media.h"

namespace service::rtc {

class RtcSession;

// One of our addresses that the answer offers, as found by signalling (candidates.h). host is an IP address, or a name
// if keep_api_domain is on.
struct CandidateAddress {
    std::string host;
    uint16_t port = 0;
    bool tcp = false;  // RFC 6544, passive
    friend bool operator==(const CandidateAddress&, const CandidateAddress&) = default;
};

// What a session needs from its owner. Must not yield.
class SessionHost {
  public:
    // The session received a STUN request with valid integrity from there, the first of them at since_ms.
    // Or a packet that its peer has encrypted.
    virtual void add_route(const base::Endpoint& from, const Wire& wire, RtcSession& session, int64_t since_ms,
                           int64_t now_ms) = 0;
    virtual void remove_route(const base::Endpoint& from, const Wire& wire, const RtcSession& session) = 0;
    // The session's ICE restart is complete: that user name fragment is no longer used.
    virtual void remove_ufrag(std::string_view ufrag) = 0;
    // The session is no longer half-open.
    virtual void session_connected(RtcSession& session) = 0;
    // Media goes over UDP from now on: whether one more connection of that address is allowed.
    virtual base::Result<net::Admission::Ticket> admit(const base::IpAddress& ip) = 0;
    // Requests that close() is called soon and the session is destroyed then.
    virtual void end_soon(RtcSession& session) = 0;
    // Sets the latest time at which its timer must run. Monotonic.
    virtual void set_due(RtcSession& session, int64_t due_ms) = 0;
    // Sends a copy of a publisher's decrypted packet to the debugging address (rtc_server.black_hole).
    virtual void copy_out(std::span<const uint8_t> packet) = 0;

  protected:
    ~SessionHost() = default;
};

struct SessionSetup {
    std::string id;
    std::string ip;  // of the signalling client
    bool publishes = false;
    live::StreamKey key;
    net::ClientDetails details;
    std::string agent;  // what the client calls its program
    net::Grant grant;
    net::AddressQuota::Share offer;
    std::string token;
    std::string etag;
    ice::Credentials credentials;
    bool encrypt = true;
    int64_t silent_ms = 30'000;  // stun_timeout
};

// What was negotiated about the peer.
struct RemoteSetup {
    std::string ufrag;
    std::string password;
    std::string fingerprint_algorithm;      // "sha-256"
    std::string fingerprint;                // "AB:CD:.."
    dtls::Role role = dtls::Role::kServer;  // our role
    dtls::Version version = dtls::Version::kAuto;
    std::shared_ptr<const dtls::Context> context;
};

class RtcSession final : public net::Session, public MediaSession {
  public:
    static constexpr int64_t kHalfOpenMs = 10'000;  // from the offer to SRTP

    RtcSession(SessionHost& host, net::SessionTable& table, SessionSetup setup, int64_t now_ms);
    ~RtcSession() override;

    // kProtocol, kLimit: its fingerprint is not usable.
    base::Result<void> set_remote(const RemoteSetup& remote);
    void set_media(std::unique_ptr<Media> media) { media_ = std::move(media); }

    const std::string& token() const { return token_; }
    const std::string& etag() const { return etag_; }
    const live::StreamKey& key() const { return key_; }
    const ice::LiteAgent& agent() const { return agent_; }
    bool ended() const { return ended_; }
    const std::string& end_text() const { return why_; }

    // ICE restart by signalling. The old credentials stay valid until the new ones have been used.
    void restart(ice::Credentials local, std::string_view remote_ufrag, std::string_view remote_password,
                 std::string etag);

    void on_stun(std::span<const uint8_t> datagram, const base::Endpoint& from, Wire& wire, int64_t now_ms);
    // Whether a STUN request with valid integrity arrived from there recently.
    bool heard_lately(const base::Endpoint& from, int64_t now_ms) const { return agent_.heard_lately(from, now_ms); }
    // For these calls the datagram's address must be one of add_route(). False: the datagram is not this session's.
    void on_dtls(std::span<const uint8_t> datagram, const base::Endpoint& from, Wire& wire, int64_t now_ms);
    bool on_rtp(std::span<uint8_t> datagram, const base::Endpoint& from, int64_t now_us);
    bool on_rtcp(std::span<uint8_t> datagram, const base::Endpoint& from, int64_t now_us);
    // Whether the peer may be at another address by now: it encrypts, and nothing has come from it for a while.
    bool may_have_moved(int64_t now_ms) const { return keys_ && !ended_ && now_ms - alive_ms_ >= kQuietMs; }
    // Then: RTP or RTCP from an address of no add_route(), over UDP. False: it is not this session's.
    bool on_moved(std::span<uint8_t> datagram, const base::Endpoint& from, Wire& wire, int64_t now_us);
    // Drops the next `packets` RTP packets of its media; see Sessions::lose().
    void lose(uint32_t packets) { to_lose_ = packets; }
    void on_wire_closed(const Wire& wire);
    // Does what is due and returns the time of the next call.
    int64_t on_timer(int64_t now_ms);
    void forget_ufrags();
    // Ends the session: the media's last packets, the DTLS alert, the log line. Destroy it afterwards.
    void close();

    // MediaSession
    bool connected() const override { return connected_; }
    void send_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first, std::span<const uint8_t> second,
                  uint64_t index) override;
    void send_rtcp(std::span<const uint8_t> compound) override;
    Room room() const override;
    void tick_sooner(int64_t now_ms) override;
    void end(std::string_view why, base::CloseReason reason) override;
    const SessionCounters& counters() const override { return counters_; }
    net::Session& as_session() override { return *this; }

    // net::Session
    net::ClientDetails details() const override { return details_; }
    std::optional<net::RtcQuality> rtc_quality() const override {
        return media_ && connected_ ? std::optional(media_->quality()) : std::nullopt;
    }
    net::SessionFigures figures() const override {
        return media_ && connected_ ? media_->figures() : net::SessionFigures();
    }
    std::string stream_text() const override { return key_.text(); }
    net::Traffic traffic() const override { return {counters_.bytes_received, counters_.bytes_sent}; }
    void kick(std::string_view why) override { end(why, base::CloseReason::kKicked); }
    size_t unfinished_input() const override { return media_ ? media_->unfinished_input() : 0; }
    void list_unfinished_input(std::vector<uint64_t>& frames) const override {
        if (media_) media_->list_unfinished(frames);
    }
    void drop_unfinished_input(std::string_view) override {
        if (media_) media_->drop_unfinished();
    }

    uint32_t index = 0;  // index in the service's sessions
    // The candidates of its answer, for the answer to an ICE restart.
    std::vector<CandidateAddress> candidates;

  private:
    struct Route {
        base::Endpoint address;
        uint16_t destination;  // our address that the peer nominated, or used first: the wire's number for it
        uint16_t source;       // the wire's number for sending from that address
        Wire* wire;
        int64_t since_ms;
    };
    struct Keys {
        srtp::Sender sender;
        srtp::Receiver receiver;
        explicit Keys(const srtp::KeyPair& pair)
            : sender(pair.profile, pair.local), receiver(pair.profile, pair.remote) {}
    };
    // The address from which the peer's packets come since since_ms, without a request of the peer.
    struct Moved {
        base::Endpoint address;
        Wire* wire;
        int64_t since_ms;
        stun::TransactionId transaction;
        int64_t next_ask_ms;
        int asked;
    };
    static constexpr int64_t kQuietMs = 20;
    static constexpr int64_t kAskAgainMs = 100;  // doubled with each
    static constexpr int kMaxAsked = 5;
    void ask_moved(int64_t now_ms);
    bool on_answer(std::span<const uint8_t> datagram, int64_t now_ms);
    void forget_moved();
    void keep_route(const base::Endpoint& from, Wire& wire, bool nominated, int64_t now_ms);
    uint16_t source_to(const base::Endpoint& to, const Wire& wire) const;
    // from: the source of a datagram that has just been verified.
    void select(const base::Endpoint& from);
    void send_dtls();
    void process_dtls(int64_t now_ms);  // sends its datagrams and handles a change of its state
    int64_t next_tick(int64_t now_ms) const;
    void become_connected(int64_t now_ms);
    void count_connection();
    void count_sent(size_t bytes);
    void report_counters();
    bool can_send() const { return connected_ && wire_ && (!ended_ || closing_); }
    // Whether the session's sender thread is to send the next datagram, by route_.
    bool lends(const runtime::Senders& threads) { return threads.takes(thread_) && (route_ || make_route()); }
    bool make_route();
    void lend_rtp(runtime::Senders& threads, std::span<const uint8_t> header, std::span<const uint8_t> first,
                  std::span<const uint8_t> second, uint64_t index);
    void lend_rtcp(runtime::Senders& threads, std::span<const uint8_t> compound);
    bool is_lost();
    bool send_in_order(Wire& wire, std::span<const uint8_t> datagram);
    size_t write_rtcp(std::span<const uint8_t> compound, uint8_t* out);
    // Decrypts a datagram in place with that function of srtp::Receiver. Empty: it is refused.
    template <auto kUnprotect>
    std::span<uint8_t> open(std::span<uint8_t> datagram);
    // The same, and records that its source is alive, or that it is refused.
    template <auto kUnprotect>
    std::span<uint8_t> unprotect(std::span<uint8_t> datagram, const base::Endpoint& from, int64_t now_ms);
    void count_received(std::span<const uint8_t> packet, size_t bytes, int64_t now_ms);

    void set_destination(Wire* wire, const base::Endpoint& address, uint16_t source);

    // First what each packet needs: within kSendBytes from the beginning of MediaSession.
    std::unique_ptr<Media> media_;
    // Where media is sent, by set_destination() only; null: no destination yet.
    Wire* wire_ = nullptr;
    base::Endpoint selected_;
    uint16_t source_ = 0;                 // our address, as the wire's number
    runtime::RoutePtr<SrtpRoute> route_;  // there; from the first packet on that a sender thread sends
    bool encrypt_;
    bool connected_ = false;
    bool ended_ = false;
    bool closing_ = false;
    bool begins_dtls_ = false;  // we start DTLS, and have not yet
    uint8_t thread_ = 0;        // of runtime::senders()
    uint8_t overhead_ = 0;      // of a packet that route_ protects, in bytes
    uint32_t to_lose_ = 0;
    SessionCounters counters_;
    int64_t alive_ms_;  // when something authenticated was last received
    std::optional<Keys> keys_;
    SessionHost& host_;
    ice::LiteAgent agent_;
    live::StreamKey key_;
    net::ClientDetails details_;
    net::Grant grant_;
    net::AddressQuota::Share offer_;  // held until it is connected
    net::Admission::Ticket ticket_;   // connected by UDP; over TCP the wire has the ticket
    std::string token_;
    std::string etag_;
    std::vector<Route> routes_;
    std::unique_ptr<Moved> moved_;
    // The source of the last DTLS datagram, to which DTLS datagrams are sent.
    Wire* dtls_wire_ = nullptr;
    base::Endpoint dtls_address_;
    uint16_t dtls_source_ = 0;
    std::unique_ptr<dtls::Endpoint> dtls_;
    SessionCounters reported_;  // already added to the metrics
    int64_t created_ms_;
    int64_t tick_ms_ = INT64_MAX;
    int64_t silent_ms_;
    std::string old_ufrag_, next_ufrag_;  // during an ICE restart
    std::string why_;
};

}  // namespace service::rtc

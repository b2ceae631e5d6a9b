#pragma once
// WebRTC: sessions from offers, over the UDP and TCP addresses of rtc_server. Signalling (signaling.h: WHIP, WHEP, the
// JSON API) asks net::Gate, then calls create(); what is carried is made by player.h and publisher.h. All sockets,
// timers and ends of sessions are here: a receiving coroutine per UDP socket, and one housekeeping for all sessions.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/http/api_endpoint.h"
#include "net/http/http_router.h"
#include "net/sessions/session.h"
#include "protocol/dtls/context.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "service/rtc/transport/routes.h"
#include "service/rtc/transport/session.h"
#include "service/rtc/transport/tcp_port.h"
#include "service/rtc/transport/udp_port.h"

namespace service::rtc {

struct Ask {
    net::Visitor visitor;  // kPublish or kPlay; id: new_context_id(), which the session gets; vhost as configured
    net::Grant stay;       // the gate let it in
    net::AddressQuota::Share offer_share;  // of what may be half-open
    std::string offer;                     // SDP
    std::vector<CandidateAddress> candidates;
    std::string vcodec;  // wishes, as in the URL: "h264", "hevc", "av1", "vp8", "vp9"; empty: none
    std::string acodec;  // "opus", "pcmu", "pcma"
};

struct Answer {
    std::string session;  // the id in API, log and hooks
    std::string token;    // random; whoever has it may end the session
    std::string sdp;
    std::string etag;  // of the ICE session, without quotes: RFC 9725, 4.3.1
};

struct Patched {
    std::string fragment;  // the answer's SDP fragment; empty: 204, nothing to tell
    std::string etag;
};

// What signalling asks for. None of it yields. Codes of errors: kProtocol (the offer is wrong: 400), kNotFound (404),
// kBusy (the name is being published: 409), kLimit (503), kRefused (403); their texts are for the client.
class Sessions {
  public:
    virtual base::Result<Answer> create(Ask ask) = 0;
    // application/trickle-ice-sdpfrag. if_match: an etag, "*" or empty. kBusy: it does not match (412).
    virtual base::Result<Patched> patch(std::string_view session, std::string_view token, std::string_view if_match,
                                        std::string_view fragment) = 0;
    virtual base::Result<void> remove(std::string_view session, std::string_view token) = 0;
    // For tests of clients, as if the network lost them: the next so many RTP packets that the session would send or
    // take. user: its id, or its ICE user name ("LOCAL:REMOTE"). kNotFound.
    virtual base::Result<void> lose(std::string_view user, uint32_t packets) = 0;
    // The real ports (0 in the configuration: any), for candidates. Empty: not served.
    virtual const std::vector<uint16_t>& udp_ports() const = 0;
    virtual const std::vector<uint16_t>& tcp_ports() const = 0;

  protected:
    ~Sessions() = default;
};

class Bridges;
class Signaling;

struct ServiceCounters {
    uint64_t created = 0;
    uint64_t connected = 0;
    uint64_t replaced = 0;           // half-open ones that made room for newer ones
    uint64_t refused_half_open = 0;  // those that had to go were not gone yet
    uint64_t unknown = 0;            // datagrams that belong to no session
    uint64_t other = 0;              // and those that are nothing we know
};

class Service final : public Sessions, private SessionHost, private WireUser {
  public:
    // Sessions that have not got as far as SRTP are gone after RtcSession::kHalfOpenMs. When there are as many as
    // rtc_server.max_offers the oldest makes room: who means it connects within a second, so a flood of offers keeps
    // nobody out. So many may be on their way out beside them.
    static constexpr size_t kMaxLeaving = 1'000;
    // After so many that never connected the allocator is told to give their memory back: a handshake's pieces lie
    // between what others hold, and it keeps them otherwise.
    static constexpr size_t kTrimAfter = 500;
    // Timers are as exact as the one; one that is set while the housekeeping sleeps, as the other.
    static constexpr int64_t kTickMs = 10, kMaxTickMs = 50;

    // Adds its endpoints to the HTTP server's router and the API's table. All of them outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate,
            net::HttpRouter& router, net::ApiTable& api);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting();
    bool idle() const { return sessions_.empty(); }
    void stop();
    // Sessions that begin, and streams that are published, from now on go by it.
    void reload(const config::SnapshotPtr& next);

    base::Result<Answer> create(Ask ask) override;
    base::Result<Patched> patch(std::string_view session, std::string_view token, std::string_view if_match,
                                std::string_view fragment) override;
    base::Result<void> remove(std::string_view session, std::string_view token) override;
    base::Result<void> lose(std::string_view user, uint32_t packets) override;
    const std::vector<uint16_t>& udp_ports() const override { return udp_port_numbers_; }
    const std::vector<uint16_t>& tcp_ports() const override { return tcp_port_numbers_; }

    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    const ServiceCounters& counters() const { return counters_; }
    size_t sessions() const { return sessions_.size(); }
    size_t half_open() const { return half_open_; }
    size_t addresses() const { return routes_.addresses(); }

  private:
    // In one vector, so that looking for who is due reads memory in order.
    struct Entry {
        int64_t due_ms;
        std::unique_ptr<RtcSession> session;
    };
    base::Result<void> listen();
    base::Result<RtcSession*> find(std::string_view session, std::string_view token) const;
    base::Result<std::string> negotiate(RtcSession& session, const Ask& ask, const config::Vhost& vhost);
    void keep(std::unique_ptr<RtcSession> session, int64_t now_ms);
    ice::Credentials new_credentials();
    static std::string new_etag();
    void run_housekeeping();
    int64_t until_due() const;
    bool run_timers();
    bool reap();  // at least one; false: cancelled meanwhile
    void destroy(RtcSession& session);
    void tell_sessions() const;

    // SessionHost
    void add_route(const stun::Address& from, const Wire& wire, RtcSession& session, int64_t since_ms,
                   int64_t now_ms) override {
        routes_.claim(from, wire, session, since_ms, now_ms);
        if (wire.is_tcp()) wire_users_.add(wire, session);
    }
    void remove_route(const stun::Address& from, const Wire& wire, const RtcSession& session) override {
        routes_.remove(from, wire, session);
    }
    void remove_ufrag(std::string_view ufrag) override { routes_.remove(ufrag); }
    void session_connected(RtcSession& session) override;
    base::Result<net::Admission::Ticket> admit(const base::IpAddress& ip) override;
    void end_soon(RtcSession& session) override;
    void set_due(RtcSession& session, int64_t due_ms) override;
    void copy_out(std::span<const uint8_t> packet) override;

    // WireUser
    void on_datagram(std::span<uint8_t> bytes, const stun::Address& from, Wire& wire, int64_t now_us) override;
    void on_stun(std::span<uint8_t> bytes, const stun::Address& from, Wire& wire, int64_t now_us);
    static bool hand_over(RtcSession& session, std::span<uint8_t> bytes, const stun::Address& from, int64_t now_us);
    static void hand_to_claimants(Routes::Claims& claims, std::span<uint8_t> bytes, const stun::Address& from,
                                  int64_t now_us);
    static void hand_dtls(const Routes::Claims& claims, std::span<uint8_t> bytes, const stun::Address& from, Wire& wire,
                          int64_t now_ms);
    void on_wire_closed(Wire& wire) override;

    config::SnapshotPtr snapshot_;
    net::SessionTable& table_;
    live::Registry& registry_;
    bool accepting_ = false;
    std::unique_ptr<Signaling> signaling_;
    std::unique_ptr<Bridges> bridges_;
    std::shared_ptr<const dtls::Context> context_;
    std::optional<stun::Address> black_hole_;
    Routes routes_;
    WireUsers wire_users_;
    std::unordered_map<std::string, RtcSession*> by_id_;
    std::vector<Entry> sessions_;
    std::vector<RtcSession*> ending_;
    // In the order of their offers; those that are over, or connected, are passed over when their time comes.
    struct Offered {
        int64_t at_ms;
        std::string id;
    };
    void note_offered(const RtcSession& session, int64_t now_ms);
    void replace_oldest();
    std::deque<Offered> offered_;
    size_t half_open_ = 0;
    size_t never_connected_ = 0;  // since the last malloc_trim
    ServiceCounters counters_;
    std::vector<std::unique_ptr<UdpPort>> udp_ports_;
    std::vector<std::unique_ptr<TcpPort>> tcp_ports_;
    std::vector<uint16_t> udp_port_numbers_;
    std::vector<uint16_t> tcp_port_numbers_;
    runtime::Event work_{"WebRTC sessions to end"};
    runtime::Event empty_{"the last WebRTC session to go"};
    runtime::Task housekeeper_;
};

}  // namespace service::rtc

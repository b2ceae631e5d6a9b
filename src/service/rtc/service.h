#pragma once
// The WebRTC service: creates sessions from offers, over the UDP and TCP addresses of rtc_server. Signalling
// (requests/signaling.h: WHIP, WHEP, the JSON API) asks net::Gate, then calls create(); the media is created by
// play/player.h and publish/publisher.h. A session is in connection/. The service owns all sockets and timers and ends
// the sessions: one receiving coroutine per UDP socket, a timer per session, and one coroutine that destroys the
// sessions that have ended.

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
#include "net/admission/address_quota.h"
#include "net/http/api_endpoint.h"
#include "net/http/http_router.h"
#include "net/sessions/session.h"
#include "protocol/dtls/context.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/log_limit.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/timers.h"
#include "service/identity.h"
#include "service/rtc/connection/routes.h"
#include "service/rtc/connection/session.h"
#include "service/rtc/connection/tcp_port.h"
#include "service/rtc/connection/udp_port.h"
#include "service/shared_parts.h"

namespace service::rtc {

struct SessionRequest {
    net::Visitor visitor;  // kPublish or kPlay; id: new_context_id(), which becomes the session's id; vhost as
                           // configured
    net::Grant grant;      // granted by the gate
    net::AddressQuota::Share offer_share;  // the address's share of half-open sessions
    std::string offer;                     // SDP
    std::vector<CandidateAddress> candidates;
    std::string vcodec;  // codec requested in the URL: "h264", "hevc", "av1", "vp8", "vp9"; empty: none
    std::string acodec;  // "opus", "pcmu", "pcma"
    LayerWish layer{};
};

struct Answer {
    std::string session;  // the id in the API, log and hooks
    std::string token;    // random; a request with it may end the session
    std::string sdp;
    std::string etag;  // of the ICE session, without quotes: RFC 9725, 4.3.1
};

struct PatchResult {
    std::string fragment;  // the SDP fragment of the answer; empty: 204, no content
    std::string etag;
};

// The interface that signalling uses. None of it yields. Error codes: kProtocol (invalid offer: 400), kNotFound (404),
// kBusy (the name is being published: 409), kLimit (503), kRefused (403). The error texts are sent to the client.
class Sessions {
  public:
    virtual base::Result<Answer> create(SessionRequest request) = 0;
    // Body: application/trickle-ice-sdpfrag. if_match: an etag, "*" or empty. kBusy: it does not match (412).
    virtual base::Result<PatchResult> patch(std::string_view session, std::string_view token, std::string_view if_match,
                                            std::string_view fragment) = 0;
    virtual base::Result<void> remove(std::string_view session, std::string_view token) = 0;
    // Simulates network loss, for tests of clients: drops the session's next `packets` RTP packets, sent or received.
    // user: the session's id, or its ICE user name ("LOCAL:REMOTE"). kNotFound.
    virtual base::Result<void> lose(std::string_view user, uint32_t packets) = 0;
    // The actual ports, for candidates (the configuration may say 0: any port). Empty: not served.
    virtual const std::vector<uint16_t>& udp_ports() const = 0;
    virtual const std::vector<uint16_t>& tcp_ports() const = 0;

  protected:
    ~Sessions() = default;
};

class Bridges;
class Signaling;

class Service final : public Sessions, private SessionHost, private WireUser {
  public:
    // A session that has not reached SRTP after RtcSession::kHalfOpenMs is closed. When there are as many half-open
    // sessions as rtc_server.max_offers, the oldest is closed to make room: a genuine client connects within a second,
    // so a flood of offers does not lock clients out. kMaxLeaving: how many replaced sessions may still be closing
    // beyond max_offers.
    static constexpr size_t kMaxLeaving = 1'000;
    // A packet from an unknown address is tried with the keys of that many sessions, which is how clients are found
    // that their NAT gave another port. kMaxLooks: sessions of its host that may be looked at, of a packet and in a
    // second: a flood of such packets costs no more. Other clients go on with their next STUN request.
    static constexpr int kMaxTries = 8;
    static constexpr int kMaxLooks = 64;
    static constexpr uint32_t kMaxLooksPerSecond = 4'000;
    // After this many sessions that never connected, the allocator returns memory to the system
    // (malloc_trim): the memory of handshakes lies between blocks still in use and would otherwise be kept.
    static constexpr size_t kTrimAfter = 500;

    // Adds its endpoints to the HTTP server's router and the API's table. All references must outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate,
            net::HttpRouter& router, net::ApiTable& api, const Offers& offers, const Identity& identity);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting();
    bool idle() const { return sessions_.empty(); }
    void stop();
    // Applies to sessions created and streams published from now on.
    void reload(const config::SnapshotPtr& next);

    base::Result<Answer> create(SessionRequest request) override;
    base::Result<PatchResult> patch(std::string_view session, std::string_view token, std::string_view if_match,
                                    std::string_view fragment) override;
    base::Result<void> remove(std::string_view session, std::string_view token) override;
    base::Result<void> lose(std::string_view user, uint32_t packets) override;
    const std::vector<uint16_t>& udp_ports() const override { return udp_port_numbers_; }
    const std::vector<uint16_t>& tcp_ports() const override { return tcp_port_numbers_; }

    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    size_t sessions() const { return sessions_.size(); }
    size_t half_open() const { return half_open_; }
    const net::AddressQuota& offer_quota() const;
    size_t addresses() const { return routes_.addresses(); }

  private:
    // A session, and the timer that calls it.
    struct Entry final : runtime::Timer {
        explicit Entry(std::unique_ptr<RtcSession> of) : session(std::move(of)) {}
        // Not later than that.
        void set_due(int64_t due_ms);
        void on_due() override;
        std::unique_ptr<RtcSession> session;
    };
    base::Result<void> listen();
    base::Result<RtcSession*> find(std::string_view session, std::string_view token) const;
    base::Result<std::string> negotiate(RtcSession& session, const SessionRequest& request, const config::Vhost& vhost);
    void keep(std::unique_ptr<RtcSession> session, int64_t now_ms);
    ice::Credentials new_credentials();
    static std::string new_etag();
    void run_housekeeping();
    bool reap();  // destroys at least one session; false: cancelled meanwhile
    void destroy(RtcSession& session);
    void report_session_counts() const;

    // SessionHost
    void add_route(const base::Endpoint& from, const Wire& wire, RtcSession& session, int64_t since_ms,
                   int64_t now_ms) override {
        routes_.claim(from, wire, session, since_ms, now_ms);
        if (wire.is_tcp()) wire_users_.add(wire, session);
    }
    void remove_route(const base::Endpoint& from, const Wire& wire, const RtcSession& session) override {
        routes_.remove(from, wire, session);
    }
    void remove_ufrag(std::string_view ufrag) override { routes_.remove(ufrag); }
    void session_connected(RtcSession& session) override;
    base::Result<net::Admission::Ticket> admit(const base::IpAddress& ip) override;
    void end_soon(RtcSession& session) override;
    void set_due(RtcSession& session, int64_t due_ms) override;
    void copy_out(std::span<const uint8_t> packet) override;

    // WireUser
    void on_datagram(std::span<uint8_t> bytes, const base::Endpoint& from, Wire& wire, int64_t now_us) override;
    void on_stun(std::span<uint8_t> bytes, const base::Endpoint& from, Wire& wire, int64_t now_us);
    static bool dispatch(RtcSession& session, std::span<uint8_t> bytes, const base::Endpoint& from, int64_t now_us);
    static void dispatch_to_claimants(Routes::Claims& claims, std::span<uint8_t> bytes, const base::Endpoint& from,
                                      int64_t now_us);
    void on_unknown(std::span<uint8_t> bytes, const base::Endpoint& from, Wire& wire, int64_t now_us);
    bool may_look(int64_t now_ms);
    static void dispatch_dtls(const Routes::Claims& claims, std::span<uint8_t> bytes, const base::Endpoint& from,
                              Wire& wire, int64_t now_ms);
    void on_wire_closed(Wire& wire) override;

    config::SnapshotPtr snapshot_;
    net::SessionTable& table_;
    live::Registry& registry_;
    runtime::LogLimit codec_log_;
    bool accepting_ = false;
    std::unique_ptr<Signaling> signaling_;
    std::unique_ptr<Bridges> bridges_;
    std::shared_ptr<const dtls::Context> context_;
    std::optional<base::Endpoint> black_hole_;
    Routes routes_;
    WireUsers wire_users_;
    uint32_t looks_ = 0;  // in the second that began at looks_since_ms_
    int64_t looks_since_ms_ = 0;
    std::unordered_map<std::string, RtcSession*> by_id_;
    std::vector<std::unique_ptr<Entry>> sessions_;
    std::vector<RtcSession*> ending_;
    // In the order of the offers; entries of closed or connected sessions are skipped when they are reached.
    struct Offered {
        int64_t at_ms;
        std::string id;
    };
    void record_offer(const RtcSession& session, int64_t now_ms);
    void replace_oldest();
    std::deque<Offered> offered_;
    size_t half_open_ = 0;
    size_t never_connected_ = 0;  // since the last malloc_trim
    std::vector<std::unique_ptr<UdpPort>> udp_ports_;
    std::vector<std::unique_ptr<TcpPort>> tcp_ports_;
    std::vector<uint16_t> udp_port_numbers_;
    std::vector<uint16_t> tcp_port_numbers_;
    runtime::Event work_{"WebRTC sessions to end"};
    runtime::Event empty_{"the last WebRTC session to go"};
    runtime::Task housekeeper_;
};

}  // namespace service::rtc

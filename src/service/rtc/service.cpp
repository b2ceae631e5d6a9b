#include "service/rtc/service.h"

#include <malloc.h>

#include <algorithm>
#include <array>

#include "base/log.h"
#include "protocol/srtp/crypto_kernel.h"
#include "protocol/stun/demux.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/loop/random.h"
#include "service/rtc/config.h"
#include "service/rtc/play/bridges.h"
#include "service/rtc/requests/signaling.h"
#include "service/rtc/stats.h"

namespace service::rtc {

using base::CloseReason;
using base::Code;
using base::Result;

namespace {

constexpr size_t kTokenBytes = 18;
// A media datagram is shorter. A datagram that is tried with several keys is copied.
constexpr size_t kMaxContestedBytes = 2048;

}  // namespace

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate,
                 net::HttpRouter& router, net::ApiTable& api, const Offers& offers, const Identity& identity)
    : snapshot_(std::move(snapshot)),
      table_(sessions),
      registry_(registry),
      signaling_(std::make_unique<Signaling>(snapshot_, *this, sessions, registry, gate, offers, identity)) {
    signaling_->add_routes(router);
    signaling_->add_rows(api);
}

Service::~Service() { stop(); }

Result<void> Service::start() {
    const ServerConfig& rtc = snapshot_->get<ServerConfig>();
    if (!rtc.enabled) return {};
    // Done here, at the start, where no client waits for it.
    if (!srtp::start_crypto_kernel()) return base::fail(Code::kSystem, "libsrtp fails its own tests");
    auto certificate = TRY(dtls::Certificate::make(rtc.ecdsa ? dtls::KeyKind::kEcdsa : dtls::KeyKind::kRsa));
    context_ = TRY(dtls::Context::make(std::move(certificate)));
    if (rtc.black_hole.enabled) {
        auto address = TRY(runtime::SocketAddress::parse(rtc.black_hole.addr), "rtc_server.black_hole.addr");
        if (auto ip = base::IpAddress::parse(address.ip)) black_hole_ = base::Endpoint{*ip, address.port};
    }
    TRY(listen());
    accepting_ = true;
    bridges_ = std::make_unique<Bridges>(registry_, snapshot_);
    housekeeper_ = runtime::spawn("rtc-housekeeper", [this] { run_housekeeping(); });
    return {};
}

Result<void> Service::listen() {
    const ServerConfig& rtc = snapshot_->get<ServerConfig>();
    for (const config::ListenAddress& address : rtc.listen) {
        auto& port = udp_ports_.emplace_back(
            TRY(UdpPort::open({address.host, address.port, address.ipv6_only}, *this), "rtc_server.listen"));
        udp_port_numbers_.push_back(port->port());
        base::log::trace("WebRTC listens on {}/udp", address.text());
    }
    if (!rtc.tcp.enabled) return {};
    for (const config::ListenAddress& address : rtc.tcp.listen) {
        auto& port = tcp_ports_.emplace_back(
            TRY(TcpPort::open({address.host, address.port, address.ipv6_only, address.reuse_port}, *this, table_),
                "rtc_server.tcp.listen"));
        tcp_port_numbers_.push_back(port->port());
        base::log::trace("WebRTC listens on {}/tcp", address.text());
    }
    return {};
}

void Service::stop_accepting() {
    accepting_ = false;
    signaling_->stop_accepting();
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    signaling_->reload(next);
    if (bridges_) bridges_->reload(next);
}

void Service::stop() {
    stop_accepting();
    for (const auto& entry : sessions_) entry->session->end("the server stops", CloseReason::kServerStop);
    while (!sessions_.empty() && housekeeper_ && !housekeeper_.done()) {
        if (!empty_.wait(runtime::Deadline::in_ms(1000)) && runtime::cancelled()) break;
        for (const auto& entry : sessions_) entry->session->end("the server stops", CloseReason::kServerStop);
    }
    if (housekeeper_) housekeeper_.cancel_and_join();
    while (!ending_.empty()) reap();
    for (auto& port : udp_ports_) port->flush();
    tcp_ports_.clear();
    udp_ports_.clear();
    bridges_.reset();
}

// ---- Signalling

const net::AddressQuota& Service::offer_quota() const { return signaling_->offer_quota(); }

ice::Credentials Service::new_credentials() {
    while (true) {
        std::array<uint8_t, ice::Credentials::kRandomBytes> random;
        runtime::fill_secret(random);
        ice::Credentials made = ice::Credentials::make(random);
        if (!routes_.find(made.ufrag)) return made;
    }
}

std::string Service::new_etag() { return runtime::secret_hex(8); }

Result<Answer> Service::create(SessionRequest request) {
    if (!accepting_) return base::fail(Code::kNotFound, "WebRTC is not served here (rtc_server)");
    const config::Vhost* vhost = snapshot_->find_vhost(request.visitor.vhost);
    if (!vhost || !vhost->enabled || !vhost->get<VhostConfig>().enabled)
        return base::fail(CloseReason::kNotFound, fmt::format("no WebRTC in vhost {} (rtc)", request.visitor.vhost));
    const auto max_offers = static_cast<size_t>(snapshot_->get<ServerConfig>().max_offers);
    if (half_open_ >= max_offers + kMaxLeaving) {
        ++rtc_stats().refused_half_open;
        return base::fail(Code::kLimit, "too many sessions that are not connected yet");
    }
    if (half_open_ >= max_offers) replace_oldest();

    const int64_t now_ms = runtime::now_ms();
    SessionSetup setup;
    setup.id = request.visitor.id;
    setup.ip = request.visitor.ip;
    setup.publishes = request.visitor.action == net::Action::kPublish;
    setup.key = request.visitor.key();
    setup.agent = request.visitor.user_agent;
    setup.details = {request.visitor.tc_url, request.visitor.page_url, request.visitor.swf_url, request.visitor.param};
    setup.grant = std::move(request.grant);
    setup.offer = std::move(request.offer_share);
    setup.token = runtime::secret_hex(kTokenBytes);
    setup.etag = new_etag();
    setup.credentials = new_credentials();
    setup.encrypt = snapshot_->get<ServerConfig>().encrypt;
    setup.silent_ms = vhost->get<VhostConfig>().stun_timeout * 1000LL;
    SessionHost& host = *this;
    auto session = std::make_unique<RtcSession>(host, table_, std::move(setup), now_ms);
    runtime::ContextScope scope(session->id());
    Answer answer{session->id(), session->token(), {}, session->etag()};
    auto sdp = negotiate(*session, request, *vhost);
    if (!sdp) {
        session->end(sdp.error().text(), sdp.error().close_reason());
        std::erase(ending_, session.get());
        session->close();
        return std::unexpected(std::move(sdp.error()));
    }
    answer.sdp = *std::move(sdp);
    base::log::trace("{} began: {} from {}", session_type_name(session->type()), session->stream_text(), session->ip());
    keep(std::move(session), now_ms);
    return answer;
}

void Service::keep(std::unique_ptr<RtcSession> session, int64_t now_ms) {
    routes_.add(session->agent().local().ufrag, *session);
    by_id_.emplace(session->id(), session.get());
    session->index = static_cast<uint32_t>(sessions_.size());
    Entry& entry = *sessions_.emplace_back(std::make_unique<Entry>(std::move(session)));
    entry.set_due(now_ms + RtcSession::kHalfOpenMs);
    record_offer(*entry.session, now_ms);
    ++half_open_;
    ++rtc_stats().created;
    report_session_counts();
    empty_.reset();
}

void Service::record_offer(const RtcSession& session, int64_t now_ms) {
    while (!offered_.empty() && offered_.front().at_ms + RtcSession::kHalfOpenMs < now_ms) offered_.pop_front();
    offered_.push_back({now_ms, session.id()});
}

void Service::replace_oldest() {
    while (!offered_.empty()) {
        auto found = by_id_.find(offered_.front().id);
        offered_.pop_front();
        if (found == by_id_.end() || found->second->connected() || found->second->ended()) continue;
        ++rtc_stats().replaced;
        return found->second->end("too many sessions that are not connected yet", CloseReason::kRefusedLimit);
    }
}

Result<RtcSession*> Service::find(std::string_view session, std::string_view token) const {
    auto found = by_id_.find(std::string(session));
    if (found == by_id_.end() || found->second->ended()) return base::fail(Code::kNotFound, "no such session");
    if (found->second->token() != token) return base::fail(Code::kRefused, "the token is not this session's");
    return found->second;
}

Result<void> Service::remove(std::string_view session, std::string_view token) {
    RtcSession* found = TRY(find(session, token));
    found->end("DELETE", CloseReason::kPeerClosed);
    return {};
}

Result<void> Service::lose(std::string_view user, uint32_t packets) {
    const auto by_id = by_id_.find(std::string(user));
    RtcSession* session = by_id == by_id_.end() ? routes_.find(user.substr(0, user.find(':'))) : by_id->second;
    if (!session || session->ended()) return base::fail(Code::kNotFound, "no such session");
    session->lose(packets);
    return {};
}

// ---- Datagrams

void Service::on_datagram(std::span<uint8_t> bytes, const base::Endpoint& from, Wire& wire, int64_t now_us) {
    const stun::Packet kind = stun::packet_kind(bytes);
    if (kind == stun::Packet::kStun) return on_stun(bytes, from, wire, now_us);
    if (kind == stun::Packet::kOther) {
        ++rtc_stats().other;
        return;
    }
    Routes::Claims* claims = routes_.find(from, wire);
    if (!claims) return on_unknown(bytes, from, wire, now_us);
    if (kind == stun::Packet::kDtls) return dispatch_dtls(*claims, bytes, from, wire, now_us / 1000);
    if (claims->size() > 1) [[unlikely]]
        return dispatch_to_claimants(*claims, bytes, from, now_us);
    dispatch(*claims->first(), bytes, from, now_us);
}

// RTP or RTCP. True: the packet belongs to the session.
bool Service::dispatch(RtcSession& session, std::span<uint8_t> bytes, const base::Endpoint& from, int64_t now_us) {
    runtime::ContextScope scope(session.id());
    return stun::packet_kind(bytes) == stun::Packet::kRtp ? session.on_rtp(bytes, from, now_us)
                                                          : session.on_rtcp(bytes, from, now_us);
}

// Several sessions have verified the address: the datagram belongs to the one whose keys decrypt it.
void Service::dispatch_to_claimants(Routes::Claims& claims, std::span<uint8_t> bytes, const base::Endpoint& from,
                                    int64_t now_us) {
    std::array<uint8_t, kMaxContestedBytes> copy;
    if (bytes.size() > copy.size()) return;
    for (size_t i = 0; i < claims.size(); ++i) {
        // A failed attempt may have changed the bytes.
        std::ranges::copy(bytes, copy.begin());
        if (!dispatch(*claims.at(i), std::span(copy).first(bytes.size()), from, now_us)) continue;
        if (i > 0) claims.put_first(i);
        return;
    }
}

bool Service::may_look(int64_t now_ms) {
    if (now_ms - looks_since_ms_ >= 1000) {
        looks_since_ms_ = now_ms;
        looks_ = 0;
    }
    return looks_ < kMaxLooksPerSecond;
}

// No session has verified the address. It may be the new one of a client whose packets do not come from the old one.
void Service::on_unknown(std::span<uint8_t> bytes, const base::Endpoint& from, Wire& wire, int64_t now_us) {
    std::array<uint8_t, kMaxContestedBytes> copy;
    const stun::Packet kind = stun::packet_kind(bytes);
    const int64_t now_ms = now_us / 1000;
    bool is_found = false;
    int tries = 0, looks = 0;
    if (kind != stun::Packet::kDtls && !wire.is_tcp() && bytes.size() <= copy.size() && may_look(now_ms)) {
        routes_.for_each_of(from.ip, [&](RtcSession& session) {
            ++looks_;
            ++looks;
            const bool may_send = kind == stun::Packet::kRtcp || session.type() == net::SessionType::kRtcPublish;
            if (may_send && session.may_have_moved(now_ms)) {
                runtime::ContextScope scope(session.id());
                std::ranges::copy(bytes, copy.begin());
                ++tries;
                is_found = session.on_moved(std::span(copy).first(bytes.size()), from, wire, now_us);
            }
            return is_found || tries == kMaxTries || looks == kMaxLooks;
        });
    }
    if (!is_found && !wire.pass_on(bytes, from)) ++rtc_stats().unknown;
}

// Connected sessions take only what their peer has encrypted. A handshake belongs to the first session that waits for
// one and has recently heard from that address; a later claim of the address does not disturb it.
void Service::dispatch_dtls(const Routes::Claims& claims, std::span<uint8_t> bytes, const base::Endpoint& from,
                            Wire& wire, int64_t now_ms) {
    RtcSession* waits = nullptr;
    for (size_t i = 0; i < claims.size(); ++i) {
        RtcSession& session = *claims.at(i);
        if (session.connected()) {
            runtime::ContextScope scope(session.id());
            session.on_dtls(bytes, from, wire, now_ms);
        } else if (!session.ended() && (!waits || !waits->heard_lately(from, now_ms))) {
            waits = &session;
        }
    }
    if (!waits) return;
    runtime::ContextScope scope(waits->id());
    waits->on_dtls(bytes, from, wire, now_ms);
}

void Service::on_stun(std::span<uint8_t> bytes, const base::Endpoint& from, Wire& wire, int64_t now_us) {
    auto message = stun::parse(bytes);
    if (!message) {
        ++rtc_stats().other;
        return;
    }
    // A peer may use one address for several sessions in succession: the user name of the request decides. An answer
    // has none.
    RtcSession* session = routes_.find(message->receiver_ufrag());
    Routes::Claims claims;
    if (message->username.empty()) {
        if (const Routes::Claims* found = routes_.find(from, wire)) claims = *found;
        session = claims.first();
    }
    if (!session) {
        if (!wire.pass_on(bytes, from)) ++rtc_stats().unknown;
        return;
    }
    for (size_t i = 0; i < std::max<size_t>(1, claims.size()); ++i) {
        RtcSession& to = claims.size() > 0 ? *claims.at(i) : *session;
        runtime::ContextScope scope(to.id());
        to.on_stun(bytes, from, wire, now_us / 1000);
    }
}

void Service::on_wire_closed(Wire& wire) {
    for (RtcSession* session : wire_users_.take(wire)) session->on_wire_closed(wire);
}

void Service::copy_out(std::span<const uint8_t> packet) {
    if (black_hole_ && !udp_ports_.empty()) udp_ports_.front()->send(packet, *black_hole_);
}

// ---- Housekeeping

void Service::session_connected(RtcSession&) {
    --half_open_;
    ++rtc_stats().connected;
    report_session_counts();
}

Result<net::Admission::Ticket> Service::admit(const base::IpAddress& ip) {
    const std::string address = ip.text();
    auto admitted = table_.admission().admit_expected(address);
    if (!admitted) {
        table_.log_refusal("WebRTC session", address, admitted.error());
        return std::unexpected(std::move(admitted.error()));
    }
    return net::Admission::Ticket(table_.admission(), ip);
}

void Service::end_soon(RtcSession& session) {
    ending_.push_back(&session);
    work_.set();
}

void Service::Entry::set_due(int64_t due_ms) {
    if (is_set() && Timer::due_ms() <= due_ms) return;
    const int64_t grid_ms = runtime::TickWheel::grid_ms(due_ms - runtime::event_ms());
    set((due_ms + grid_ms - 1) / grid_ms * grid_ms);
}

void Service::Entry::on_due() {
    runtime::ContextScope scope(session->id());
    if (const int64_t due_ms = session->on_timer(runtime::event_ms()); due_ms != INT64_MAX) set_due(due_ms);
}

void Service::set_due(RtcSession& session, int64_t due_ms) {
    if (session.index >= sessions_.size() || sessions_[session.index]->session.get() != &session) return;
    sessions_[session.index]->set_due(due_ms);
}

void Service::run_housekeeping() {
    while (work_.wait(runtime::Deadline::never())) {
        work_.reset();
        if (!reap()) return;
    }
}

// Thousands of sessions may end at once. Memory is returned to the system in between: a single trim for all of them
// would block the loop for as long as all of these together.
bool Service::reap() {
    runtime::CpuSlice slice(1);  // each is expensive
    bool goes_on = true;
    while (goes_on && !ending_.empty()) {
        RtcSession& session = *ending_.back();
        ending_.pop_back();
        destroy(session);
        if (never_connected_ >= kTrimAfter) {
            never_connected_ = 0;
            malloc_trim(0);
        }
        goes_on = slice.step().has_value();
    }
    if (sessions_.empty()) empty_.set();
    return goes_on;
}

void Service::destroy(RtcSession& session) {
    session.close();
    session.forget_ufrags();
    wire_users_.forget(session);
    by_id_.erase(session.id());
    if (!session.connected()) {
        --half_open_;
        ++never_connected_;
    }
    const uint32_t index = session.index;
    CHECK(index < sessions_.size() && sessions_[index]->session.get() == &session);
    const std::unique_ptr<Entry> removed = std::move(sessions_[index]);
    if (index + 1 != sessions_.size()) {
        sessions_[index] = std::move(sessions_.back());
        sessions_[index]->session->index = index;
    }
    sessions_.pop_back();
    report_session_counts();
}

void Service::report_session_counts() const {
    rtc_stats().sessions = sessions_.size();
    rtc_stats().half_open = half_open_;
}

}  // namespace service::rtc

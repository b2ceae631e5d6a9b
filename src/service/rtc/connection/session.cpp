#include "service/rtc/connection/session.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/log.h"
#include "protocol/stun/demux.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/random.h"
#include "runtime/socket/datagram_port.h"
#include "service/rtc/stats.h"

namespace service::rtc {

using base::CloseReason;

RtcSession::RtcSession(SessionHost& host, net::SessionTable& table, SessionSetup setup, int64_t now_ms)
    : net::Session(table, setup.id, setup.ip),
      encrypt_(setup.encrypt),
      alive_ms_(now_ms),
      host_(host),
      agent_(std::move(setup.credentials)),
      key_(std::move(setup.key)),
      details_(std::move(setup.details)),
      grant_(std::move(setup.grant)),
      offer_(std::move(setup.offer)),
      token_(std::move(setup.token)),
      etag_(std::move(setup.etag)),
      created_ms_(now_ms),
      silent_ms_(setup.silent_ms) {
    if (runtime::Senders* threads = runtime::senders()) thread_ = threads->assign_thread();
    not_a_connection();
    set_type(setup.publishes ? net::SessionType::kRtcPublish : net::SessionType::kRtcPlay);
    set_agent(setup.agent);
    // It becomes the stream's publisher when it acquires the name (Publisher::on_connected).
    enter_stream(key_, false);
}

RtcSession::~RtcSession() {
    for (const Route& route : routes_) host_.remove_route(route.address, *route.wire, *this);
    forget_moved();
}

base::Result<void> RtcSession::set_remote(const RemoteSetup& remote) {
    agent_.set_remote(remote.ufrag, remote.password);
    if (!encrypt_) return {};
    dtls_ = std::make_unique<dtls::Endpoint>(remote.context, remote.role, dtls::Endpoint::kMtu, remote.version);
    begins_dtls_ = remote.role == dtls::Role::kClient;
    return dtls_->expect_fingerprint(remote.fingerprint_algorithm, remote.fingerprint);
}

void RtcSession::restart(ice::Credentials local, std::string_view remote_ufrag, std::string_view remote_password,
                         std::string etag) {
    if (old_ufrag_.empty()) {
        old_ufrag_ = agent_.local().ufrag;
    } else {
        host_.remove_ufrag(next_ufrag_);  // of a restart that this one replaces
    }
    next_ufrag_ = local.ufrag;
    etag_ = std::move(etag);
    agent_.restart(std::move(local), remote_ufrag, remote_password);
}

void RtcSession::forget_ufrags() {
    host_.remove_ufrag(agent_.local().ufrag);
    if (!old_ufrag_.empty()) host_.remove_ufrag(old_ufrag_);
    if (!next_ufrag_.empty()) host_.remove_ufrag(next_ufrag_);
}

// ---- Addresses

void RtcSession::on_stun(std::span<const uint8_t> datagram, const base::Endpoint& from, Wire& wire, int64_t now_ms) {
    if (ended_) return;
    std::array<uint8_t, ice::kMaxReplySize> answer;
    counters_.bytes_received += datagram.size();
    ++counters_.packets_received;
    if (moved_ && moved_->address == from && moved_->wire == &wire && on_answer(datagram, now_ms)) return;
    const ice::Reply reply = agent_.on_request(datagram, from, now_ms, answer);
    // The answer leaves from the address to which the request was sent, whichever address media is sent from.
    if (reply.size > 0 && wire.send({answer.data(), reply.size}, from, source_to(from, wire))) count_sent(reply.size);
    if (!reply.verified()) {
        if (reply.refusal != ice::Refusal::kNotRequest) ++counters_.refused;
        return;
    }
    wire.confirm();
    alive_ms_ = now_ms;
    if (moved_ && moved_->address == from) forget_moved();
    keep_route(from, wire, reply.nominated, now_ms);
    if (reply.restarted) {
        base::log::info("WebRTC: ICE restart is complete, from {}", from.text());
        host_.remove_ufrag(old_ufrag_);
        old_ufrag_.clear();
        next_ufrag_.clear();
    }
    select(from);
    if (connected_) return;
    if (!encrypt_) {
        if (wire_) become_connected(now_ms);
    } else if (begins_dtls_) {
        begins_dtls_ = false;
        dtls_wire_ = &wire;
        dtls_address_ = from;
        dtls_source_ = source_to(from, wire);
        dtls_->start(now_ms);
        process_dtls(now_ms);
    }
}

// The source number for answering the datagram that was just received from the address it was sent to.
uint16_t RtcSession::source_to(const base::Endpoint& to, const Wire& wire) const {
    const uint16_t destination = wire.destination();
    if (destination == 0) return 0;
    for (const Route& route : routes_)
        if (route.address == to && route.wire == &wire && route.destination == destination) return route.source;
    return destination;
}

void RtcSession::keep_route(const base::Endpoint& from, Wire& wire, bool nominated, int64_t now_ms) {
    const uint16_t destination = wire.destination();
    auto route = std::ranges::find(routes_, from, &Route::address);
    if (route == routes_.end()) {
        // Routes that the agent dropped to make room for this one.
        std::erase_if(routes_, [this](const Route& one) {
            if (agent_.verified(one.address)) return false;
            host_.remove_route(one.address, *one.wire, *this);
            return true;
        });
        route = routes_.insert(routes_.end(), {from, destination, wire.source_for(from, destination), &wire, now_ms});
    } else if (route->wire != &wire || (nominated && route->destination != destination)) {
        route->destination = destination;
        route->source = wire.source_for(from, destination);
        if (selected_ == from) set_destination(wire_, selected_, route->source);
    }
    if (route->wire != &wire) {
        // The same address over the other protocol: the newer one is used.
        host_.remove_route(from, *route->wire, *this);
        if (wire_ == route->wire && selected_ == from) set_destination(&wire, selected_, source_);
        if (dtls_wire_ == route->wire && dtls_address_ == from) dtls_wire_ = &wire;
        route->wire = &wire;
    }
    // Called each time: another session may have claimed it meanwhile.
    host_.add_route(from, wire, *this, route->since_ms, now_ms);
}

// ---- An address that the peer does not know of

bool RtcSession::on_moved(std::span<uint8_t> datagram, const base::Endpoint& from, Wire& wire, int64_t now_us) {
    const bool is_rtp = stun::packet_kind(datagram) == stun::Packet::kRtp;
    const auto packet =
        is_rtp ? open<&srtp::Receiver::unprotect_rtp>(datagram) : open<&srtp::Receiver::unprotect_rtcp>(datagram);
    if (packet.empty()) return false;
    const int64_t now_ms = now_us / 1000;
    forget_moved();
    moved_ = std::make_unique<Moved>(Moved{from, &wire, now_ms, {}, now_ms, 0});
    runtime::fill_secret(moved_->transaction);
    host_.add_route(from, wire, *this, now_ms, now_ms);
    count_received(packet, datagram.size(), now_ms);
    ask_moved(now_ms);
    if (media_) is_rtp ? media_->on_rtp(packet, now_us) : media_->on_rtcp(packet, now_us);
    return true;
}

// For a packet that came from there.
void RtcSession::ask_moved(int64_t now_ms) {
    if (moved_->asked == kMaxAsked || now_ms < moved_->next_ask_ms) return;
    moved_->next_ask_ms = now_ms + (kAskAgainMs << moved_->asked++);
    std::array<uint8_t, ice::kMaxCheckSize> request;
    const size_t size = agent_.write_check(moved_->transaction, request);
    const uint16_t source = moved_->wire->destination();
    if (size > 0 && moved_->wire->send({request.data(), size}, moved_->address, source)) count_sent(size);
}

bool RtcSession::on_answer(std::span<const uint8_t> datagram, int64_t now_ms) {
    const base::Endpoint from = moved_->address;
    if (!agent_.on_answer(datagram, moved_->transaction, from, moved_->since_ms, now_ms)) return false;
    alive_ms_ = now_ms;
    Wire& wire = *moved_->wire;
    forget_moved();
    keep_route(from, wire, false, now_ms);
    select(from);
    return true;
}

void RtcSession::forget_moved() {
    if (moved_) host_.remove_route(moved_->address, *moved_->wire, *this);
    moved_.reset();
}

// ---- The address that is used

void RtcSession::select(const base::Endpoint& from) {
    const base::Endpoint* address = agent_.selected();
    if (!address && connected_ && !wire_) address = &from;  // the peer never nominated one
    if (!address || (wire_ && *address == selected_)) return;
    auto route = std::ranges::find(routes_, *address, &Route::address);
    if (route == routes_.end()) return;
    if (connected_) base::log::info("WebRTC: switches to {}, was {}", address->text(), selected_.text());
    set_destination(route->wire, *address, route->source);
    count_connection();
}

void RtcSession::set_destination(Wire* wire, const base::Endpoint& address, uint16_t source) {
    wire_ = wire;
    selected_ = address;
    source_ = source;
    route_.reset();
}

void RtcSession::on_wire_closed(const Wire& wire) {
    std::erase_if(routes_, [&](const Route& route) {
        if (route.wire != &wire) return false;
        host_.remove_route(route.address, wire, *this);
        return true;
    });
    if (dtls_wire_ == &wire) dtls_wire_ = nullptr;
    if (wire_ != &wire) return;
    set_destination(nullptr, selected_, source_);
    if (routes_.empty()) end("its TCP connection was closed", CloseReason::kPeerClosed);
}

// ---- DTLS

void RtcSession::on_dtls(std::span<const uint8_t> datagram, const base::Endpoint& from, Wire& wire, int64_t now_ms) {
    if (ended_ || !dtls_) return;
    counters_.bytes_received += datagram.size();
    ++counters_.packets_received;
    dtls_wire_ = &wire;
    dtls_address_ = from;
    dtls_source_ = source_to(from, wire);
    dtls_->on_datagram(datagram, now_ms);
    process_dtls(now_ms);
}

// After media that a sender thread has not sent yet: a close alert ends the peer's session.
bool RtcSession::send_in_order(Wire& wire, std::span<const uint8_t> datagram) {
    runtime::Senders* threads = runtime::senders();
    runtime::DatagramPort* port = threads && threads->takes(thread_) ? wire.shared_port() : nullptr;
    if (!port) return wire.send(datagram, dtls_address_, dtls_source_);
    uint8_t* room = threads->reserve_datagram(thread_, datagram.size());
    if (!room) return false;
    std::ranges::copy(datagram, room);
    port->flush();
    threads->commit_datagram(thread_, datagram.size(), port->target(dtls_address_, dtls_source_));
    return true;
}

void RtcSession::send_dtls() {
    while (true) {
        const std::span<const uint8_t> datagram = dtls_->next_datagram();
        if (datagram.empty()) return;
        if (dtls_wire_ && send_in_order(*dtls_wire_, datagram)) count_sent(datagram.size());
    }
}

void RtcSession::process_dtls(int64_t now_ms) {
    send_dtls();
    if (dtls_->failed()) return end(fmt::format("DTLS: {}", dtls_->error()), CloseReason::kProtocolError);
    if (dtls_->closed()) return end("it closed DTLS", CloseReason::kPeerClosed);
    if (!connected_ && dtls_->established()) {
        auto keys = dtls_->take_srtp_keys();
        if (!keys) return end("DTLS gave no keys for SRTP", CloseReason::kProtocolError);
        keys_.emplace(*keys);
        become_connected(now_ms);
    }
    host_.set_due(*this, dtls_->timeout_ms());
}

void RtcSession::become_connected(int64_t now_ms) {
    connected_ = true;
    alive_ms_ = now_ms;
    // Media may arrive before the nomination.
    if (!wire_ && dtls_wire_) set_destination(dtls_wire_, dtls_address_, dtls_source_);
    host_.session_connected(*this);
    offer_.release();
    count_connection();
    if (!media_ || ended_) return;
    base::log::trace("{} connected: {} at {}{}, {}, {}, {} ms after its offer", session_type_name(type()),
                     stream_text(), selected_.text(), wire_ && wire_->is_tcp() ? " by TCP" : "",
                     keys_ ? srtp::profile_info(keys_->sender.profile()).dtls_name : "not encrypted",
                     media_->describe(), now_ms - created_ms_);
    media_->on_connected(now_ms);
    tick_ms_ = next_tick(now_ms);
    host_.set_due(*this, tick_ms_);
}

void RtcSession::count_connection() {
    if (!connected_ || ended_ || ticket_ || !wire_ || wire_->is_tcp()) return;
    auto ticket = host_.admit(selected_.ip);
    if (!ticket) return end(ticket.error().text(), CloseReason::kRefusedLimit);
    ticket_ = *std::move(ticket);
}

// ---- Media

template <auto kUnprotect>
std::span<uint8_t> RtcSession::open(std::span<uint8_t> datagram) {
    if (keys_) return datagram.first((keys_->receiver.*kUnprotect)(datagram).value_or(0));
    return !encrypt_ && connected_ ? datagram : std::span<uint8_t>();
}

template <auto kUnprotect>
std::span<uint8_t> RtcSession::unprotect(std::span<uint8_t> datagram, const base::Endpoint& from, int64_t now_ms) {
    const std::span<uint8_t> packet = open<kUnprotect>(datagram);
    if (packet.empty()) {
        ++counters_.refused;
        return {};
    }
    count_received(packet, datagram.size(), now_ms);
    if (moved_ && moved_->address == from) [[unlikely]] {
        ask_moved(now_ms);
    } else if (agent_.heard(from, now_ms) || !wire_) {
        select(from);
    }
    return packet;
}

void RtcSession::count_received(std::span<const uint8_t> packet, size_t bytes, int64_t now_ms) {
    alive_ms_ = now_ms;
    ++counters_.packets_received;
    counters_.bytes_received += bytes;
    if (type() == net::SessionType::kRtcPublish) host_.copy_out(packet);
}

bool RtcSession::on_rtp(std::span<uint8_t> datagram, const base::Endpoint& from, int64_t now_us) {
    if (ended_) return false;
    if (to_lose_ > 0 && type() == net::SessionType::kRtcPublish) {
        // Not decrypted: if the same packet is retransmitted, it is not a replay.
        --to_lose_;
        return true;
    }
    const auto packet = unprotect<&srtp::Receiver::unprotect_rtp>(datagram, from, now_us / 1000);
    if (packet.empty()) return false;
    if (media_) media_->on_rtp(packet, now_us);
    return true;
}

bool RtcSession::on_rtcp(std::span<uint8_t> datagram, const base::Endpoint& from, int64_t now_us) {
    if (ended_) return false;
    const auto packet = unprotect<&srtp::Receiver::unprotect_rtcp>(datagram, from, now_us / 1000);
    if (packet.empty()) return false;
    if (media_) media_->on_rtcp(packet, now_us);
    return true;
}

void RtcSession::count_sent(size_t bytes) {
    ++counters_.packets_sent;
    counters_.bytes_sent += bytes;
}

void RtcSession::report_counters() {
    RtcStats& all = rtc_stats();
    all.received += counters_.packets_received - reported_.packets_received;
    all.sent += counters_.packets_sent - reported_.packets_sent;
    all.refused += counters_.refused - reported_.refused;
    reported_ = counters_;
}

// For MediaSession::send_rtp() of a player, by request of an operator (Sessions::lose()).
bool RtcSession::is_lost() {
    if (to_lose_ == 0 || type() != net::SessionType::kRtcPlay) return false;
    --to_lose_;
    return true;
}

MediaSession::Room RtcSession::room() const {
    if (!wire_) return Room::kNow;
    if (wire_->congested()) return Room::kFull;
    const runtime::Senders* threads = runtime::senders();
    return threads && threads->is_crowded(thread_) ? Room::kSoon : Room::kNow;
}

namespace {

uint32_t ssrc_of(std::span<const uint8_t> header) {
    uint32_t ssrc = 0;
    if (header.size() >= 12) std::memcpy(&ssrc, header.data() + 8, sizeof ssrc);
    return ssrc;
}

}  // namespace

void RtcSession::send_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first,
                          std::span<const uint8_t> second, uint64_t index) {
    if (!can_send()) return;
    if (runtime::Senders* threads = runtime::senders(); threads && lends(*threads))
        return lend_rtp(*threads, header, first, second, index);
    const size_t plain = header.size() + first.size() + second.size();
    uint8_t* room = wire_->reserve(plain + srtp::kMaxOverhead);
    if (!room) return;
    size_t size = plain;
    if (keys_) {
        size = keys_->sender.protect_rtp(header, first, second, index, room);
    } else {
        uint8_t* out = std::ranges::copy(header, room).out;
        out = std::ranges::copy(first, out).out;
        std::ranges::copy(second, out);
    }
    if (size == 0 || is_lost()) return;
    wire_->commit(size, selected_, ssrc_of(header), source_);
    count_sent(size);
}

// False: the loop sends, as over TCP and without encryption.
bool RtcSession::make_route() {
    runtime::DatagramPort* port = wire_ && keys_ ? wire_->shared_port() : nullptr;
    if (!port) return false;
    route_.reset(new SrtpRoute(port->target(selected_, source_), keys_->sender.rtp_cipher()));
    overhead_ = static_cast<uint8_t>(keys_->sender.rtp_overhead());
    return true;
}

void RtcSession::lend_rtp(runtime::Senders& threads, std::span<const uint8_t> header, std::span<const uint8_t> first,
                          std::span<const uint8_t> second, uint64_t index) {
    void* room = threads.reserve(thread_, sizeof(srtp::DeferredRtp));
    if (!room) return;
    keys_->sender.check_rtp(header, first, second, index);
    const auto& packet = *new (room) srtp::DeferredRtp(header, first, second, index);
    if (is_lost()) return;
    // Neither of the route nor of the keys, which are the thread's: that would be a miss of the cache for each packet.
    const size_t size = header.size() + first.size() + second.size() + overhead_;
    wire_->shared_port()->flush();  // what the loop committed goes before
    threads.commit(thread_, packet.used(), *route_, size, ssrc_of(header));
    count_sent(size);
}

// Returns its size; 0: it cannot be sent.
size_t RtcSession::write_rtcp(std::span<const uint8_t> compound, uint8_t* out) {
    if (keys_) return keys_->sender.protect_rtcp(compound, out);
    std::ranges::copy(compound, out);
    return compound.size();
}

// A sender thread sends what follows media that it has not sent yet: a BYE does not overtake the last packets.
void RtcSession::send_rtcp(std::span<const uint8_t> compound) {
    if (!can_send()) return;
    if (runtime::Senders* threads = runtime::senders(); threads && lends(*threads))
        return lend_rtcp(*threads, compound);
    uint8_t* room = wire_->reserve(compound.size() + srtp::kMaxOverhead);
    const size_t size = room ? write_rtcp(compound, room) : 0;
    if (size == 0) return;
    wire_->commit(size, selected_, 0, source_);
    count_sent(size);
}

void RtcSession::lend_rtcp(runtime::Senders& threads, std::span<const uint8_t> compound) {
    uint8_t* room = threads.reserve_datagram(thread_, compound.size() + srtp::kMaxOverhead);
    const size_t size = room ? write_rtcp(compound, room) : 0;
    if (size == 0) return;
    wire_->shared_port()->flush();
    threads.commit_datagram(thread_, size, route_->target());
    count_sent(size);
}

// ---- Time and the end

// Up to a fifth later: ticks of many sessions are combined, because an iteration of the loop costs more than a tick.
int64_t RtcSession::next_tick(int64_t now_ms) const {
    const int64_t every = media_->tick_ms();
    const int64_t together = std::max<int64_t>(1, every / 5);
    return (now_ms + every + together - 1) / together * together;
}

void RtcSession::tick_sooner(int64_t now_ms) {
    tick_ms_ = std::min(tick_ms_, next_tick(now_ms));
    host_.set_due(*this, tick_ms_);
}

int64_t RtcSession::on_timer(int64_t now_ms) {
    if (ended_) return INT64_MAX;
    if (!connected_) {
        const int64_t until = created_ms_ + kHalfOpenMs;
        if (now_ms >= until) {
            end(fmt::format("no {} within {} ms", routes_.empty() ? "STUN request" : "DTLS handshake", kHalfOpenMs),
                CloseReason::kPeerTimeout);
            return INT64_MAX;
        }
        if (!dtls_) return until;
        if (now_ms >= dtls_->timeout_ms()) {
            dtls_->on_timeout(now_ms);
            process_dtls(now_ms);
        }
        return std::min(until, dtls_->timeout_ms());
    }
    const int64_t silent_until = alive_ms_ + silent_ms_;
    if (now_ms >= silent_until) {
        end(fmt::format("nothing was heard of it for {} ms (stun_timeout)", silent_ms_), CloseReason::kPeerTimeout);
        return INT64_MAX;
    }
    const int64_t consent_until = alive_ms_ + ice::kConsentMs;
    // stun_timeout may be longer, but after consent has expired another host may have that address.
    if (wire_ && now_ms > consent_until) {
        base::log::info("WebRTC: consent expired, nothing is sent to {} until a valid packet arrives from it",
                        selected_.text());
        set_destination(nullptr, selected_, source_);
    }
    if (now_ms >= tick_ms_ && media_) {
        media_->on_tick(now_ms);
        report_counters();
        if (auto counted = count_input(); !counted) end(counted.error().text(), CloseReason::kFlood);
        tick_ms_ = next_tick(now_ms);
    }
    return std::min(tick_ms_, silent_until);
}

void RtcSession::end(std::string_view why, CloseReason reason) {
    if (ended_) return;
    ended_ = true;
    why_ = why;
    set_close_reason(reason);
    host_.end_soon(*this);
}

void RtcSession::close() {
    runtime::ContextScope scope(id());
    closing_ = true;
    keep_figures();
    if (media_) media_->on_closed();
    media_.reset();
    if (dtls_) {
        dtls_->close();
        send_dtls();
    }
    closing_ = false;
    report_counters();
    grant_.end(traffic());
    log_end(why_.empty() ? "it ended" : std::string_view(why_), CloseReason::kUnknown);
}

}  // namespace service::rtc

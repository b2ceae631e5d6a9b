#include "service/srt/callers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "live/hub/options.h"
#include "net/http/http_visitor.h"
#include "protocol/http/via.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"
#include "runtime/loop/random.h"
#include "service/relay/srt_kek.h"
#include "service/srt/config.h"
#include "service/srt/play_session.h"
#include "service/srt/publish_session.h"

namespace service::srt {

using base::CloseReason;
using base::Code;
using ::srt::Listener;

namespace {

// Of one address, so much of all.
constexpr int kOfAddress = 10;
constexpr size_t kPendingBytes = 16 * 1024;  // with its coroutine
// A flood of inductions, from forged addresses too, costs the loop 3 us each up to here.
constexpr uint32_t kMaxAnswersPerSecond = 10'000;
// The headers of IPv4 and UDP.
constexpr uint32_t kUdpOverhead = 28;

net::AddressQuota::Limits limits_of(const config::Snapshot& snapshot) {
    const auto in_all = static_cast<size_t>(snapshot.get<ServerConfig>().max_handshakes);
    return {std::max<size_t>(in_all / kOfAddress, 1), in_all, 0, 0, snapshot.address_limits.exempt};
}

uint16_t ms16(int ms) { return static_cast<uint16_t>(std::clamp(ms, 0, 0xffff)); }

::srt::ListenerTerms terms_of(const ServerConfig& server, uint32_t own_id) {
    return {
        .own_id = own_id,
        .mtu = static_cast<uint32_t>(server.mss),
        .window = static_cast<uint32_t>(std::max(server.recvbuf / (server.mss - static_cast<int>(kUdpOverhead)), 32)),
        .receive_latency_ms = ms16(server.recvlatency < 0 ? server.latency : server.recvlatency),
        .peer_latency_ms = ms16(server.peerlatency < 0 ? server.latency : server.peerlatency),
        .drops_too_late = server.tlpktdrop};
}

void send(runtime::DatagramPort& port, std::span<const uint8_t> bytes, const base::Endpoint& to, uint16_t source) {
    uint8_t* out = port.reserve(bytes.size());
    if (!out) return;
    std::copy(bytes.begin(), bytes.end(), out);
    port.commit(bytes.size(), to, 0, source);
}

}  // namespace

Callers::Callers(CallerOwner& owner, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate,
                 config::SnapshotPtr snapshot, Stats& stats)
    : owner_(owner),
      sessions_(sessions),
      registry_(registry),
      gate_(gate),
      snapshot_(std::move(snapshot)),
      stats_(stats) {
    runtime::fill_secret(secret_);
    quota_.set_limits(limits_of(*snapshot_));
}

Callers::~Callers() {
    stop_accepting();
    while (!pending_.empty())
        if (!ended_.wait(runtime::Deadline::in_ms(1'000)) && runtime::cancelled()) break;
}

void Callers::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    quota_.set_limits(limits_of(*next));
}

void Callers::stop_accepting() {
    stopping_ = true;
    for (auto& [key, pending] : pending_) pending->task.cancel();
}

bool Callers::may_answer(int64_t now_us) {
    constexpr int64_t kSecondUs = 1'000'000;
    if (now_us - answers_since_us_ >= kSecondUs) {
        answers_since_us_ = now_us;
        answers_ = 0;
    }
    return answers_++ < kMaxAnswersPerSecond;
}

void Callers::on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort& port, int64_t now_us) {
    const auto handshake = ::srt::parse_handshake(packet.bytes);
    if (!handshake || stopping_) return void(++stats_.unknown);
    const auto key_size = static_cast<uint8_t>(snapshot_->get<ServerConfig>().pbkeylen);
    ::srt::BareHandshake answer;
    switch (Listener(secret_, key_size).on_handshake(now_us, packet.from, *handshake, answer)) {
        case Listener::Step::kIgnore:
            if (handshake->handshake.type == ::srt::HandshakeType::kConclusion) ++stats_.bad_cookies;
            ++stats_.unknown;
            return;
        case Listener::Step::kAnswer:
            if (!may_answer(now_us)) return void(++stats_.unanswered);
            ++stats_.inductions;
            return send(port, answer, packet.from, packet.destination);
        case Listener::Step::kConclusion:
            return on_conclusion(*handshake, {packet.from, handshake->handshake.socket_id}, port, packet.destination,
                                 now_us);
    }
}

void Callers::on_conclusion(const ::srt::HandshakePacket& packet, const CallerKey& key, runtime::DatagramPort& port,
                            uint16_t destination, int64_t now_us) {
    if (Session* session = owner_.find(key)) return session->repeat_answer();
    if (pending_.contains(key)) return;  // it is being decided
    auto request = ::srt::parse_caller_request(packet);
    if (!request)
        return refuse(packet.handshake, key, port, destination,
                      {request.error().code, std::string(request.error().reason), CloseReason::kProtocolError});
    auto share = quota_.take(key.from.ip.text(), kPendingBytes);
    if (!share) return refuse(packet.handshake, key, port, destination, refused(share.error()));
    auto owned = std::make_unique<Pending>(Pending{*std::move(request), &port, destination, now_us, *std::move(share)});
    Pending& pending = *pending_.emplace(key, std::move(owned)).first->second;
    ended_.reset();
    pending.task = runtime::spawn("srt-caller", [this, key, &pending] { run(key, pending); });
    if (!pending.task) forget(key);
}

void Callers::forget(const CallerKey& key) {
    pending_.erase(key);
    if (pending_.empty()) ended_.set();
}

void Callers::run(const CallerKey& key, Pending& pending) {
    auto session = admit(key, pending);
    if (session) {
        ++stats_.admitted;
        (*session)->repeat_answer();
    } else if (!runtime::cancelled() || stopping_) {
        refuse(pending.request.handshake, key, *pending.port, pending.destination, session.error());
    }
    forget(key);
}

// Yields, in the gate and while another thread derives the key.
Callers::OrRefused<Session*> Callers::admit(const CallerKey& key, const Pending& pending) {
    runtime::set_context_id(runtime::new_context_id());
    if (auto expected = sessions_.admission().expect(key.from.ip.text()); !expected)
        return std::unexpected(refused(expected.error()));
    auto wanted = resolve(key, pending.request);
    if (!wanted) return std::unexpected(std::move(wanted.error()));
    const auto& server = wanted->snapshot->get<ServerConfig>();
    const bool publishes = wanted->visitor.action == net::Action::kPublish;
    const int64_t until_us = pending.arrived_us + int64_t{1'000} * server.connect_timeout;
    auto checked = check(*wanted, pending.request);
    if (!checked) return std::unexpected(std::move(checked.error()));
    if (stopping_) return std::unexpected(Refused{Refusal::kClosed, "the server stops", CloseReason::kServerStop});
    if (runtime::now_us() > until_us)
        return std::unexpected(
            Refused{Refusal::kTimeout, "it took longer than connect_timeout", CloseReason::kPeerTimeout});
    if (auto admitted = sessions_.admission().admit_expected(key.from.ip.text()); !admitted)
        return std::unexpected(refused(admitted.error()));
    const ::srt::ListenerTerms terms = terms_of(server, owner_.new_id());
    AdmittedCaller caller{.id = runtime::context_id(),
                          .caller = key,
                          .peer = {pending.port, key.from, pending.port->source_for(key.from, pending.destination)},
                          .agreement = ::srt::agree(pending.request, terms, pending.arrived_us),
                          .answer = ::srt::make_answer(pending.request, terms),
                          .keys = std::move(checked->keys),
                          .tc_url = wanted->visitor.tc_url,
                          .params = wanted->visitor.param,
                          .path = wanted->id.path,
                          .snapshot = wanted->snapshot,
                          .vhost = wanted->vhost,
                          .grant = std::move(checked->grant),
                          .stream = std::move(wanted->stream)};
    auto session = owner_.begin(std::move(caller), publishes);
    if (!session) return std::unexpected(refused(session.error()));
    return *session;
}

Callers::OrRefused<Callers::Wanted> Callers::resolve(const CallerKey& key, const ::srt::CallerRequest& request) const {
    Wanted wanted;
    wanted.snapshot = snapshot_;
    const auto& server = snapshot_->get<ServerConfig>();
    using Mode = ::srt::StreamMode;
    auto id = ::srt::parse_stream_id(request.stream_id,
                                     {.app = server.default_app,
                                      .mode = server.default_mode == "publish" ? Mode::kPublish : Mode::kRequest,
                                      .stream_id = server.default_streamid});
    if (!id) return std::unexpected(Refused{id.error().code, id.error().text, CloseReason::kProtocolError});
    wanted.id = *std::move(id);
    wanted.vhost = snapshot_->vhost(wanted.id.vhost);
    if (!wanted.vhost || !wanted.vhost->get<VhostConfig>().enabled)
        return std::unexpected(Refused{
            Refusal::kNotFound, fmt::format("there is no vhost {} with SRT", wanted.id.vhost), CloseReason::kNotFound});
    const bool publishes = wanted.id.mode == Mode::kPublish;
    net::Visitor& visitor = wanted.visitor;
    visitor.action = publishes ? net::Action::kPublish : net::Action::kPlay;
    visitor.type = publishes ? srt_publish_type() : srt_play_type();
    visitor.id = runtime::context_id();
    visitor.ip = key.from.ip.text();
    visitor.vhost = wanted.vhost->name;
    visitor.app = wanted.id.app;
    visitor.stream = wanted.id.stream;
    visitor.forward_path = wanted.id.path;
    if (!wanted.id.params.empty()) visitor.param = "?" + wanted.id.params;
    visitor.tc_url =
        fmt::format("srt://{}/{}", wanted.id.vhost.empty() ? wanted.vhost->name : wanted.id.vhost, wanted.id.app);
    wanted.stream = registry_.find_or_create(visitor.key(), live::live_options(*wanted.vhost));
    if (!publishes) return wanted;
    if (http::has_passed(wanted.id.path, registry_.instance()))
        return std::unexpected(
            Refused{Refusal::kLoop, "the stream comes from this server itself: that would be a loop"});
    // No guard is asked if the name is in use anyway.
    auto free = wanted.stream->check_free(wanted.vhost->publish.takeover, live::standby_options(*wanted.vhost));
    if (!free && !owner_.replaces(key, visitor.key())) return std::unexpected(refused(free.error()));
    return wanted;
}

// The hooks are asked last, unless they say what the passphrase is.
Callers::OrRefused<Callers::Checked> Callers::check(const Wanted& wanted, const ::srt::CallerRequest& request) {
    const auto& vhost = wanted.vhost->get<VhostConfig>();
    std::string passphrase = passphrase_of(wanted.snapshot->get<ServerConfig>(), vhost);
    OrRefused<net::Grant> grant;
    if (vhost.passphrase_by_hook) {
        grant = ask_gate(wanted, &passphrase);
        if (!grant) return std::unexpected(std::move(grant.error()));
    }
    auto keys = derive_keys(wanted, passphrase, request);
    if (!keys) return std::unexpected(std::move(keys.error()));
    if (!vhost.passphrase_by_hook) {
        grant = ask_gate(wanted, nullptr);
        if (!grant) return std::unexpected(std::move(grant.error()));
    }
    return Checked{*std::move(keys), *std::move(grant)};
}

Callers::OrRefused<net::Grant> Callers::ask_gate(const Wanted& wanted, std::string* passphrase) {
    net::Visitor visitor = wanted.visitor;
    visitor.passphrase = passphrase;
    auto grant = gate_.admit(std::move(visitor), *wanted.vhost);
    if (grant) return *std::move(grant);
    if (grant.error().code() != Code::kCancelled) net::record_refusal(sessions_, wanted.visitor, grant.error());
    return std::unexpected(refused(grant.error()));
}

Callers::OrRefused<std::optional<relay::SrtKeys>> Callers::derive_keys(const Wanted& wanted,
                                                                       const std::string& passphrase,
                                                                       const ::srt::CallerRequest& request) const {
    if (passphrase.empty() != request.key_message.empty())
        return std::unexpected(Refused{Refusal::kUnsecure,
                                       passphrase.empty() ? "it encrypts, and there is no passphrase here"
                                                          : "it does not encrypt, and a passphrase is required",
                                       CloseReason::kRefusedAuth});
    if (passphrase.empty()) return std::nullopt;
    // Others would pay for the derivation.
    if (auto checked = gate_.check(wanted.visitor, *wanted.vhost); !checked)
        return std::unexpected(refused(checked.error()));
    const auto message = ::srt::parse_key_message(request.key_message);
    if (!message) return std::unexpected(Refused{message.error(), "its key message is malformed"});
    auto kek = relay::derive_srt_kek(passphrase, message->salt, message->key_size);
    if (!kek) return std::unexpected(Refused{Refusal::kResource, kek.error().text(), CloseReason::kSystemError});
    auto keys = ::srt::unwrap_keys(*message, *kek);
    if (!keys)
        return std::unexpected(Refused{Refusal::kBadSecret, "its passphrase is wrong", CloseReason::kRefusedAuth});
    return relay::SrtKeys{*keys, {message->salt, *kek}};
}

Callers::Refused Callers::refused(const base::Error& error) {
    const auto code = [&] {
        if (error.close_reason() == CloseReason::kRefusedAuth) return Refusal::kUnauthorized;
        switch (error.code()) {
            case Code::kBusy:
                return Refusal::kConflict;
            case Code::kNotFound:
                return Refusal::kNotFound;
            case Code::kLimit:
                return Refusal::kOverload;
            case Code::kProtocol:
                return Refusal::kBadRequest;
            case Code::kRefused:
                return Refusal::kForbidden;
            default:
                return Refusal::kInternalError;
        }
    };
    return {code(), error.text(), error.close_reason()};
}

void Callers::refuse(const ::srt::Handshake& handshake, const CallerKey& key, runtime::DatagramPort& port,
                     uint16_t destination, const Refused& why) {
    ++stats_.refused;
    send(port, ::srt::make_refusal(handshake, why.code), key.from, destination);
    if (why.code == Refusal::kVersion) {  // such callers do not understand it
        std::array<uint8_t, ::srt::kMaxDatagram> shutdown;
        const size_t bytes = ::srt::write_shutdown(shutdown, {handshake.socket_id, 0});
        send(port, std::span(shutdown).first(bytes), key.from, destination);
    }
    runtime::warn_some(refusal_log_, "SRT caller {} refused by {}: {}", key.from.text(),
                       static_cast<uint32_t>(why.code), why.text);
}

}  // namespace service::srt

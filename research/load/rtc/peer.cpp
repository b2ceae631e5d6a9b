#include "load/rtc/peer.h"

#include <charconv>
#include <cstring>

#include "load/target.h"
#include "protocol/stun/demux.h"

namespace load::rtc {

namespace {

constexpr int64_t kLeaveMs = 2000;

}  // namespace

Peer::Peer(std::string url, bool publish, bool nack, Shared shared)
    : url_(std::move(url)), nack_(nack), bare_(url_.starts_with("udp://")), shared_(std::move(shared)) {
    offer_.publish = publish;
    offer_.nack = nack_;
}

Peer::~Peer() {
    if (receiving_) receiving_.cancel_and_join();
}

base::Result<void> Peer::open(runtime::Deadline deadline) {
    begun_us_ = base::monotonic_us();
    ++shared_.ledger.opening;
    auto opened = bare_ ? connect_bare(deadline) : connect(deadline);
    --shared_.ledger.opening;
    if (!opened) {
        ++shared_.ledger.failed;
        shared_.ledger.count_reason("opening", opened.error());
        return opened;
    }
    open_ = true;
    ++shared_.ledger.open;
    ++shared_.ledger.opened;
    receiving_ = runtime::spawn("peer", [this] { run(); });
    return {};
}

base::Result<void> Peer::connect_bare(runtime::Deadline deadline) {
    auto target = TRY(load::parse_target("tcp://" + url_.substr(6)));
    auto ip = base::IpAddress::parse(target.host);
    if (!ip || !ip->is_v4()) return base::fail(base::Code::kConfig, "a floor's address is IPv4");
    peer_ = {*ip, target.port};
    socket_ = TRY(runtime::bind_udp({"127.0.0.1", 0}, {.receive_buffer_bytes = 256 * 1024}));
    uint32_t room = 0;
    const std::string_view path = target.path;
    std::from_chars(path.data() + 1, path.data() + path.size(), room);
    const uint8_t hello[] = {static_cast<uint8_t>(offer_.publish ? 'p' : 'v'), static_cast<uint8_t>(room >> 16),
                             static_cast<uint8_t>(room >> 8), static_cast<uint8_t>(room)};
    if (offer_.publish) {
        keys_ = std::make_unique<Keys>(srtp::KeyPair{});
        answer_.audio_payload = kOpusPayload;
        answer_.video_payload = kH264Payload;
        offer_.audio_ssrc = 2 * room + 1;
        offer_.video_ssrc = 2 * room + 2;
    }
    return socket_->send_to(hello, peer_, deadline);
}

base::Result<void> Peer::connect(runtime::Deadline deadline) {
    socket_ = TRY(runtime::bind_udp({"127.0.0.1", 0}, {.receive_buffer_bytes = 256 * 1024}));
    TRY(signal(deadline));
    uint64_t seed;
    load::fill_random({reinterpret_cast<uint8_t*>(&seed), sizeof seed});
    ice_.emplace(ice::ClientOptions{.local = offer_.credentials, .remote = answer_.credentials, .seed = seed});
    for (const auto& candidate : answer_.candidates) ice_->add_remote(candidate);
    while (!keys_) {
        if (deadline.passed()) {
            return base::fail(base::Code::kTimeout, ice_->selected() ? "no DTLS handshake in time" : "no ICE in time");
        }
        TRY(step(deadline));
    }
    return {};
}

base::Result<void> Peer::signal(runtime::Deadline deadline) {
    std::array<uint8_t, ice::Credentials::kRandomBytes> random;
    load::fill_random(random);
    offer_.credentials = ice::Credentials::make(random);
    offer_.fingerprint = shared_.dtls->certificate().fingerprint();
    uint32_t ssrc;
    load::fill_random({reinterpret_cast<uint8_t*>(&ssrc), sizeof ssrc});
    offer_.audio_ssrc = ssrc | 1;
    offer_.video_ssrc = offer_.audio_ssrc + 1;
    net::HttpCall call;
    call.url = url_;
    call.body = write_offer(offer_);
    call.headers.add("Content-Type", "application/sdp");
    auto answer = TRY(shared_.http.call(std::move(call), deadline));
    if (answer.status != 201) {
        return base::fail(base::Code::kRefused,
                          fmt::format("answered with {}: {}", answer.status, answer.body.substr(0, 100)));
    }
    std::string_view location = answer.headers.get("Location");
    resource_ = location.starts_with("http") ? std::string(location)
                                             : url_.substr(0, url_.find('/', 7)) + std::string(location);
    answer_ = TRY(read_answer(answer.body));
    return {};
}

void Peer::leave() {
    open_ = false;
    if (receiving_) receiving_.cancel_and_join();
    if (resource_.empty()) return;
    net::HttpCall call;
    call.method = http::Method::kDelete;
    call.url = std::exchange(resource_, {});
    (void)shared_.http.call(std::move(call), runtime::Deadline::in_ms(kLeaveMs));
}

void Peer::fall_silent() {
    open_ = false;
    if (receiving_) receiving_.cancel_and_join();
}

void Peer::say_farewell() {
    fall_silent();
    if (!dtls_) return;
    dtls_->close();
    for (auto datagram = dtls_->next_datagram(); !datagram.empty(); datagram = dtls_->next_datagram())
        send(datagram, peer_);
}

// Sends what is due and waits for what comes next: a datagram, or the time of something.
base::Result<void> Peer::step(runtime::Deadline deadline) {
    int64_t now_us = base::monotonic_us();
    TRY(pump(now_us / 1000));
    auto wait = runtime::Deadline::at_us(now_us + kTickMs * 1000);
    auto got = socket_->receive_batch(earlier(deadline, wait));
    if (!got && got.error().code() != base::Code::kTimeout) return std::unexpected(std::move(got.error()));
    now_us = base::monotonic_us();
    if (got) {
        for (const auto& packet : *got) TRY(take(packet, now_us));
    }
    return {};
}

base::Result<void> Peer::pump(int64_t now_ms) {
    if (!ice_) return {};
    while (auto out = ice_->poll(now_ms)) send(out->bytes, out->to);
    if (ice_->failed())
        return base::fail(base::Code::kRefused, fmt::format("ICE failed, last error {}", ice_->last_error()));
    if (!ice_->selected()) return {};
    peer_ = *ice_->selected();
    if (!dtls_) TRY(begin_dtls(now_ms));
    if (dtls_->timeout_ms() <= now_ms) dtls_->on_timeout(now_ms);
    for (auto datagram = dtls_->next_datagram(); !datagram.empty(); datagram = dtls_->next_datagram()) {
        send(datagram, peer_);
    }
    return {};
}

base::Result<void> Peer::begin_dtls(int64_t now_ms) {
    auto role = answer_.peer_is_client ? dtls::Role::kServer : dtls::Role::kClient;
    dtls_ = std::make_unique<dtls::Endpoint>(shared_.dtls, role);
    TRY(dtls_->expect_fingerprint(answer_.fingerprint_algorithm, answer_.fingerprint));
    if (role == dtls::Role::kClient) dtls_->start(now_ms);
    return {};
}

base::Result<void> Peer::take(runtime::UdpPacket packet, int64_t now_us) {
    if (bare_) {
        on_packet(packet.bytes, now_us);
        return {};
    }
    const base::Endpoint from = packet.from;
    switch (stun::packet_kind(packet.bytes)) {
        case stun::Packet::kStun:
            ice_->on_datagram(packet.bytes, from, now_us / 1000);
            break;
        case stun::Packet::kDtls:
            TRY(take_dtls(packet.bytes, now_us / 1000));
            break;
        case stun::Packet::kRtp:
            take_rtp(packet.bytes, now_us);
            break;
        case stun::Packet::kRtcp:
            take_rtcp(packet.bytes, now_us);
            break;
        case stun::Packet::kOther:
            break;
    }
    return {};
}

base::Result<void> Peer::take_dtls(std::span<const uint8_t> datagram, int64_t now_ms) {
    if (!dtls_) return {};
    dtls_->on_datagram(datagram, now_ms);
    TRY(pump(now_ms));
    if (dtls_->failed()) return base::fail(base::Code::kRefused, dtls_->error());
    if (dtls_->closed()) return base::fail(base::Code::kClosed, "the server has said goodbye");
    if (!dtls_->established() || keys_) return {};
    if (auto keys = dtls_->take_srtp_keys()) keys_ = std::make_unique<Keys>(*keys);
    return {};
}

void Peer::take_rtp(std::span<uint8_t> datagram, int64_t now_us) {
    if (!keys_) return;
    on_packet(datagram, now_us);
    auto opened = keys_->receiver.unprotect_rtp(datagram);
    if (!opened) return;
    on_rtp(datagram.first(*opened), now_us);
}

void Peer::take_rtcp(std::span<uint8_t> datagram, int64_t now_us) {
    if (!keys_) return;
    if (auto opened = keys_->receiver.unprotect_rtcp(datagram)) on_rtcp(datagram.first(*opened), now_us);
}

// What the socket does not take now is lost, as on any network.
bool Peer::send(std::span<const uint8_t> bytes, const base::Endpoint& to) {
    return socket_->send_to(bytes, to, runtime::Deadline::at_us(0)).has_value();
}

bool Peer::send_rtp(std::span<const uint8_t> header, std::span<const uint8_t> payload, uint64_t index) {
    std::array<uint8_t, 1500> out;
    if (!keys_ || header.size() + payload.size() + srtp::kMaxOverhead > out.size()) return false;
    size_t size = keys_->sender.protect_rtp(header, payload, index, out.data());
    if (!send({out.data(), size}, peer_)) return false;
    shared_.ledger.bytes += size;
    ++shared_.ledger.messages;
    return true;
}

void Peer::send_rtcp(std::span<const uint8_t> compound) {
    std::array<uint8_t, 1500> out;
    if (bare_ || !keys_ || compound.size() + srtp::kMaxOverhead > out.size()) return;
    if (size_t size = keys_->sender.protect_rtcp(compound, out.data())) send({out.data(), size}, peer_);
}

void Peer::run() {
    while (open_ && !runtime::cancelled()) {
        if (auto stepped = step(runtime::Deadline::never()); !stepped) {
            if (stepped.error().code() != base::Code::kCancelled) lose(stepped.error());
            return;
        }
        int64_t now_us = base::monotonic_us();
        if (ice_ && !ice_->consent(now_us / 1000))
            return lose(base::Error(base::Code::kTimeout, "no consent any more"));
        if (now_us < next_tick_us_) continue;
        next_tick_us_ = now_us + kTickMs * 1000;
        on_tick(now_us);
    }
}

void Peer::lose(const base::Error& error) {
    if (!std::exchange(open_, false)) return;
    --shared_.ledger.open;
    ++shared_.ledger.lost;
    shared_.ledger.count_reason("lost", error);
}

}  // namespace load::rtc

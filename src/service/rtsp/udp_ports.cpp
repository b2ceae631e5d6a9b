#include "service/rtsp/udp_ports.h"

#include <cstring>

#include "runtime/loop/clock.h"
#include "runtime/loop/log_limit.h"
#include "service/rtsp/stats.h"

namespace service::rtsp {

namespace {

constexpr int kBufferBytes = 4 * 1024 * 1024;
constexpr int kPairTries = 40;  // until two ports that follow each other are free

}  // namespace

base::Result<std::unique_ptr<UdpPorts>> UdpPorts::open(const runtime::SocketAddress& address) {
    std::unique_ptr<UdpPorts> ports(new UdpPorts);
    ports->is_servers_ = true;
    TRY(ports->open_side(false, address));
    runtime::SocketAddress next = address;
    next.port = static_cast<uint16_t>(ports->sides_[0].socket->port() + 1);
    TRY(ports->open_side(true, next));
    TRY(ports->start());
    return ports;
}

base::Result<std::unique_ptr<UdpPorts>> UdpPorts::open_any() {
    for (int i = 0; i < kPairTries; ++i) {
        std::unique_ptr<UdpPorts> ports(new UdpPorts);
        TRY(ports->open_side(false, {"", 0}));
        // RTP has the even port (RFC 3550, 11).
        const uint16_t port = ports->sides_[0].socket->port();
        if (port % 2 == 1 || !ports->open_side(true, {"", static_cast<uint16_t>(port + 1)})) continue;
        TRY(ports->start());
        return ports;
    }
    return base::fail(base::Code::kSystem, "no two UDP ports are free");
}

// The coroutines.
base::Result<void> UdpPorts::start() {
    for (const bool rtcp : {false, true}) {
        sides_[rtcp].receiver = runtime::spawn(rtcp ? "rtsp-rtcp" : "rtsp-rtp", [this, rtcp] { receive(rtcp); });
        if (!sides_[rtcp].receiver) return base::fail(base::Code::kSystem, "no coroutine for UDP");
    }
    pacer_ = runtime::spawn("rtsp-pace", [this] { pace(); });
    if (!pacer_) return base::fail(base::Code::kSystem, "no coroutine for UDP");
    return {};
}

base::Result<void> UdpPorts::open_side(bool rtcp, const runtime::SocketAddress& address) {
    Side& side = sides_[rtcp];
    side.socket =
        TRY(runtime::bind_udp(address, {.receive_buffer_bytes = kBufferBytes, .send_buffer_bytes = kBufferBytes}));
    side.batch = std::make_unique<runtime::UdpBatch>(*side.socket);
    return {};
}

UdpPorts::~UdpPorts() {
    if (pacer_) pacer_.cancel_and_join();
    for (Side& side : sides_)
        if (side.receiver) side.receiver.cancel_and_join();
}

bool UdpPorts::is_free_for(const UdpReceiver& receiver, size_t track, const base::IpAddress& ip,
                           const ::rtsp::Ports& ports) const {
    const auto free = [&](const Side& side, uint16_t port) {
        const auto found = side.claims.find({ip, port});
        return found == side.claims.end() || (found->second.receiver == &receiver && found->second.track == track);
    };
    return free(sides_[0], ports.rtp) && free(sides_[1], ports.rtcp);
}

void UdpPorts::claim(UdpReceiver& receiver, size_t track, const base::IpAddress& ip, const ::rtsp::Ports& ports) {
    CHECK(is_free_for(receiver, track, ip, ports));
    sides_[0].claims[{ip, ports.rtp}] = {&receiver, track};
    sides_[1].claims[{ip, ports.rtcp}] = {&receiver, track};
}

void UdpPorts::release(const base::IpAddress& ip, const ::rtsp::Ports& ports) {
    sides_[0].claims.erase({ip, ports.rtp});
    sides_[1].claims.erase({ip, ports.rtcp});
}

void UdpPorts::send(bool rtcp, const runtime::UdpAddress& to, std::span<const uint8_t> bytes) {
    runtime::UdpBatch& batch = *sides_[rtcp].batch;
    uint8_t* out = batch.reserve(bytes.size());
    if (!out) return;  // counted as lost
    std::memcpy(out, bytes.data(), bytes.size());
    batch.commit(bytes.size(), to);
}

runtime::UdpStats UdpPorts::stats() {
    runtime::UdpStats sum = sides_[0].socket->stats();
    return sum += sides_[1].socket->stats();
}

void UdpPorts::receive(bool rtcp) {
    Side& side = sides_[rtcp];
    runtime::LogCondition failing;
    while (true) {
        auto packets = side.socket->receive_batch(runtime::Deadline::never());
        if (!packets) {
            if (packets.error().code() == base::Code::kCancelled) return;
            runtime::note_failure(failing, "RTSP receiving", packets.error());
            if (!runtime::sleep_ms(100)) return;
            continue;
        }
        runtime::note_success(failing, "RTSP receiving");
        const int64_t now_us = runtime::now_us();
        for (const runtime::UdpPacket& packet : *packets) {
            const auto claim = side.claims.find({packet.from.ip, packet.from.port});
            if (claim == side.claims.end()) {
                rtsp_stats().refused_unknown += is_servers_;
                continue;
            }
            const Claim of = claim->second;
            of.receiver->on_datagram(of.track, rtcp, packet.bytes, now_us);
        }
    }
}

void UdpPorts::wake_later(PacedStream& stream) {
    if (stream.waits_) return;
    stream.waits_ = true;
    waiting_.push_back(&stream);
    wake_.set();
}

void UdpPorts::forget(PacedStream& stream) {
    if (!stream.waits_) return;
    std::erase(waiting_, &stream);
    std::erase(waking_, &stream);
}

void UdpPorts::pace() {
    while (wake_.wait(runtime::Deadline::never()) && runtime::sleep_ms(kPaceMs)) {
        wake_.reset();
        waking_ = std::exchange(waiting_, {});
        // A stream may end others.
        while (!waking_.empty()) {
            PacedStream& stream = *waking_.back();
            waking_.pop_back();
            stream.waits_ = false;
            stream.on_pace();
        }
    }
}

}  // namespace service::rtsp

#include "service/rtsp/udp_ports.h"

namespace service::rtsp {

namespace {

constexpr int kBufferBytes = 4 * 1024 * 1024;
constexpr int kPairTries = 40;  // until two ports that follow each other are free

}  // namespace

base::Result<std::unique_ptr<UdpPorts>> UdpPorts::open(const runtime::SocketAddress& address, uint64_t& refused) {
    std::unique_ptr<UdpPorts> ports(new UdpPorts(refused));
    ports->for_clients_ = true;
    TRY(ports->open_side(false, address));
    runtime::SocketAddress next = address;
    next.port = static_cast<uint16_t>(ports->sides_[0].port->port() + 1);
    TRY(ports->open_side(true, next));
    return ports;
}

base::Result<std::unique_ptr<UdpPorts>> UdpPorts::open_any(uint64_t& refused) {
    for (int i = 0; i < kPairTries; ++i) {
        std::unique_ptr<UdpPorts> ports(new UdpPorts(refused));
        TRY(ports->open_side(false, {"", 0}));
        const uint16_t port = ports->sides_[0].port->port();
        // RTP has the even port (RFC 3550, 11).
        if (port % 2 == 1) ports->sides_[0].port.swap(ports->sides_[1].port);
        const bool misses_rtcp = port % 2 == 0;
        if (!ports->open_side(misses_rtcp, {"", static_cast<uint16_t>(port ^ 1)})) continue;
        return ports;
    }
    return base::fail(base::Code::kSystem, "no two UDP ports are free");
}

base::Result<void> UdpPorts::open_side(bool rtcp, const runtime::SocketAddress& address) {
    sides_[rtcp].port = TRY(runtime::DatagramPort::open(
        address, {.receive_buffer_bytes = kBufferBytes, .send_buffer_bytes = kBufferBytes, .for_clients = for_clients_},
        "RTSP", *this));
    return {};
}

UdpPorts::~UdpPorts() {
    for (Side& side : sides_) side.port.reset();
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

void UdpPorts::claim_host(UdpReceiver& receiver, size_t track, const base::IpAddress& ip) {
    for (Side& side : sides_) side.claims[{ip, 0}] = {&receiver, track};
}

uint16_t UdpPorts::rtcp_port_of(const base::IpAddress& ip) const {
    const auto claim = sides_[1].claims.find({ip, 0});
    return claim == sides_[1].claims.end() ? uint16_t{0} : claim->second.from;
}

void UdpPorts::send(bool rtcp, const base::Endpoint& to, std::span<const uint8_t> bytes) {
    (void)sides_[rtcp].port->send(bytes, to);  // what has no room is counted as lost
}

void UdpPorts::flush() {
    for (Side& side : sides_) side.port->flush();
}

runtime::UdpStats UdpPorts::stats() {
    runtime::UdpStats sum = sides_[0].port->stats();
    return sum += sides_[1].port->stats();
}

void UdpPorts::on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort& port, int64_t now_us) {
    const bool rtcp = &port == sides_[1].port.get();
    auto& claims = sides_[rtcp].claims;
    auto claim = claims.find(packet.from);
    if (claim == claims.end()) claim = claims.find({packet.from.ip, 0});
    if (claim == claims.end()) {
        if (!port.pass_on(packet.bytes, packet.from, packet.destination)) ++refused_;
        return;
    }
    claim->second.from = packet.from.port;
    const Claim found = claim->second;
    found.receiver->on_datagram(found.track, rtcp, packet.bytes, now_us);
}

}  // namespace service::rtsp

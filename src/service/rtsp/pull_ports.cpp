#include "service/rtsp/pull_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "runtime/loop/clock.h"
#include "service/rtsp/stats.h"

namespace service::rtsp {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr int kTries = 40;  // until two ports that follow each other are free
constexpr int kReceiveBufferBytes = 1024 * 1024;

}  // namespace

Result<std::unique_ptr<PullPorts>> PullPorts::open(UdpReceiver& receiver, size_t track, const base::IpAddress& camera) {
    std::unique_ptr<PullPorts> ports(new PullPorts(receiver, track, camera));
    TRY(ports->bind());
    TRY(ports->start());
    return ports;
}

Result<void> PullPorts::bind() {
    const runtime::UdpOptions options{.receive_buffer_bytes = kReceiveBufferBytes};
    for (int i = 0; i < kTries; ++i) {
        auto first = TRY(runtime::bind_udp({"", 0}, options));
        // RTP has the even port (RFC 3550, 11).
        const bool even = first->port() % 2 == 0;
        if (first->port() == 65535) continue;
        auto other =
            runtime::bind_udp({"", static_cast<uint16_t>(even ? first->port() + 1 : first->port() - 1)}, options);
        if (!other) continue;
        sides_[even ? 0 : 1].socket = std::move(first);
        sides_[even ? 1 : 0].socket = *std::move(other);
        return {};
    }
    return fail(Code::kSystem, "no two UDP ports are free");
}

Result<void> PullPorts::start() {
    for (const bool rtcp : {false, true}) {
        Side& side = sides_[rtcp];
        side.receiver = runtime::spawn(rtcp ? "rtsp-pull-rtcp" : "rtsp-pull-rtp", [this, rtcp] { receive(rtcp); });
        if (!side.receiver) return fail(Code::kSystem, "no coroutine for UDP");
    }
    return {};
}

PullPorts::~PullPorts() {
    for (Side& side : sides_)
        if (side.receiver) side.receiver.cancel_and_join();
}

void PullPorts::receive(bool rtcp) {
    Side& side = sides_[rtcp];
    while (true) {
        auto packets = side.socket->receive_batch(runtime::Deadline::never());
        if (!packets) {
            if (packets.error().code() == Code::kCancelled || !runtime::sleep_ms(100)) return;
            continue;
        }
        const int64_t now_us = runtime::now_us();
        for (const runtime::UdpPacket& packet : *packets) {
            if (packet.from.ip != camera_) {
                ++rtsp_stats().refused_pull;
                continue;
            }
            side.peer_port = packet.from.port;
            receiver_.on_datagram(track_, rtcp, packet.bytes, now_us);
        }
    }
}

void PullPorts::send_rtcp(uint16_t port, std::span<const uint8_t> bytes) {
    Side& side = sides_[1];
    if (port == 0) port = side.peer_port;
    if (port == 0) return;
    sockaddr_storage to{};
    socklen_t length = 0;
    const std::string text = camera_.text();
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    if (side.socket->is_v6()) {
        const std::string mapped = text.find(':') == text.npos ? "::ffff:" + text : text;
        if (::inet_pton(AF_INET6, mapped.c_str(), &v6.sin6_addr) != 1) return;
        std::memcpy(&to, &v6, length = sizeof v6);
    } else {
        v4.sin_family = AF_INET;
        v4.sin_port = htons(port);
        if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) != 1) return;
        std::memcpy(&to, &v4, length = sizeof v4);
    }
    (void)side.socket->send_to(bytes, to, length, runtime::Deadline::in_ms(0));
}

}  // namespace service::rtsp

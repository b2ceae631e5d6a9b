#include "service/rtc/transport/udp_port.h"

#include "runtime/loop/clock.h"
#include "runtime/loop/log_limit.h"

namespace service::rtc {
namespace {

// Bursts occur when a keyframe goes to many viewers, or many of them send reports.
constexpr int kBufferBytes = 4 * 1024 * 1024;

}  // namespace

base::Result<std::unique_ptr<UdpPort>> UdpPort::open(const runtime::SocketAddress& address, WireUser& user) {
    auto socket = TRY(runtime::bind_udp(
        address,
        {.receive_buffer_bytes = kBufferBytes, .send_buffer_bytes = kBufferBytes, .reports_destination = true}));
    return std::unique_ptr<UdpPort>(new UdpPort(std::move(socket), user));
}

UdpPort::UdpPort(std::unique_ptr<runtime::UdpSocket> socket, WireUser& user)
    : socket_(std::move(socket)), batch_(*socket_), user_(user) {
    receiver_ = runtime::spawn("rtc-udp", [this] { receive_loop(); });
}

UdpPort::~UdpPort() {
    if (receiver_) receiver_.cancel_and_join();
}

void UdpPort::commit(size_t bytes, const stun::Address& to, uint32_t flow, uint16_t source) {
    batch_.commit(bytes, {to.ip, to.port}, flow, source);
}

void UdpPort::receive_loop() {
    runtime::LogCondition failing;
    while (true) {
        auto packets = socket_->receive_batch(runtime::Deadline::never());
        if (!packets) {
            if (packets.error().code() == base::Code::kCancelled) return;
            runtime::note_failure(failing, "WebRTC receiving", packets.error());
            if (!runtime::sleep_ms(100)) return;
            continue;
        }
        runtime::note_success(failing, "WebRTC receiving");
        const int64_t now_us = runtime::now_us();
        for (const runtime::UdpPacket& packet : *packets) {
            came_to_ = packet.destination;
            user_.on_datagram(packet.bytes, {packet.from.ip, packet.from.port}, *this, now_us);
        }
        user_.on_batch_end(now_us);
        // Answers and feedback are sent now, not at the end of the loop's iteration.
        batch_.flush();
    }
}

}  // namespace service::rtc

#include "runtime/socket/datagram_port.h"

#include <fmt/format.h>

#include <cstring>

#include "runtime/loop/clock.h"
#include "runtime/loop/log_limit.h"

namespace runtime {

namespace {

constexpr int64_t kRetryMs = 100;  // after an error of the socket

}  // namespace

base::Result<std::unique_ptr<DatagramPort>> DatagramPort::open(const SocketAddress& address, const UdpOptions& options,
                                                               std::string what, DatagramUser& user) {
    auto socket = TRY(bind_udp(address, options));
    std::unique_ptr<DatagramPort> port(new DatagramPort(std::move(socket), std::move(what), user));
    port->receiver_ = spawn("udp-receive", [port = port.get()] { port->receive(); });
    if (!port->receiver_) return base::fail(base::Code::kSystem, "no coroutine for UDP");
    return port;
}

DatagramPort::~DatagramPort() {
    if (receiver_) receiver_.cancel_and_join();
    if (lent_ && detail::datagram_senders) detail::datagram_senders->drain();
}

DatagramTarget DatagramPort::target(const base::Endpoint& to, uint16_t source) {
    lent_ = true;
    DatagramTarget target{
        .fd = socket_->fd(), .v6 = socket_->is_v6(), .gso = batch().uses_gso(), .source = source, .to = to};
    if (const base::IpAddress* address = source == 0 ? nullptr : socket_->source(source))
        target.source_address = *address;
    else
        target.source = 0;
    return target;
}

bool DatagramPort::send(std::span<const uint8_t> bytes, const base::Endpoint& to) {
    uint8_t* room = reserve(bytes.size());
    if (!room) return false;
    std::memcpy(room, bytes.data(), bytes.size());
    commit(bytes.size(), to);
    return true;
}

void DatagramPort::receive() {
    const std::string what = fmt::format("{} receiving", what_);
    LogCondition failing;
    while (true) {
        auto packets = socket_->receive_batch(Deadline::never());
        if (!packets) {
            if (packets.error().code() == base::Code::kCancelled) return;
            log_failure(failing, what, packets.error());
            if (!sleep_ms(kRetryMs)) return;
            continue;
        }
        log_recovery(failing, what);
        const int64_t now_us = runtime::now_us();
        for (const UdpPacket& packet : *packets) user_.on_datagram(packet, *this, now_us);
        user_.on_batch_end();
    }
}

}  // namespace runtime

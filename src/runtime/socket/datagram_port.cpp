#include "runtime/socket/datagram_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/loop/clock.h"
#include "runtime/loop/immortal.h"
#include "runtime/loop/log_limit.h"
#include "runtime/socket/address.h"
#include "runtime/socket/datagram_relay.h"

namespace runtime {

namespace {

constexpr int64_t kRetryMs = 100;  // after an error of the socket

detail::Immortal<std::vector<DatagramPort*>> immortal_ports;
std::vector<DatagramPort*>& ports = immortal_ports.value;

}  // namespace

base::Result<std::unique_ptr<DatagramPort>> DatagramPort::open(const SocketAddress& address, const UdpOptions& options,
                                                               std::string what, DatagramUser& user) {
    auto socket = TRY(bind_udp(address, options));
    std::unique_ptr<DatagramPort> port(new DatagramPort(std::move(socket), std::move(what), user));
    port->receiver_ = spawn("udp-receive", [port = port.get()] { port->receive(); });
    if (!port->receiver_) return base::fail(base::Code::kSystem, "no coroutine for UDP");
    return port;
}

DatagramPort::DatagramPort(std::unique_ptr<UdpSocket> socket, std::string what, DatagramUser& user)
    : socket_(std::move(socket)), what_(std::move(what)), user_(user), local_(detail::local_endpoint(socket_->fd())) {
    ports.push_back(this);
}

DatagramPort::~DatagramPort() {
    std::erase(ports, this);
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

bool DatagramPort::pass_on(std::span<const uint8_t> bytes, const base::Endpoint& from, uint16_t destination) const {
    if (!detail::datagram_relay) return false;
    const base::IpAddress* address = socket_->address_of(destination);
    detail::datagram_relay->pass(local_, from, address ? *address : base::IpAddress(), bytes);
    return true;
}

DatagramPort* DatagramPort::find(const base::Endpoint& local) {
    const auto found = std::ranges::find(ports, local, [](const DatagramPort* port) { return port->local_; });
    return found == ports.end() ? nullptr : *found;
}

void DatagramPort::take_from_other_process(std::span<uint8_t> bytes, const base::Endpoint& from,
                                           const base::IpAddress& destination) {
    took_from_other_process_ = true;
    user_.on_datagram({bytes, from, socket_->number_of(destination)}, *this, runtime::now_us());
}

void DatagramPort::end_batches() {
    for (DatagramPort* port : std::vector(ports))
        if (std::exchange(port->took_from_other_process_, false)) port->user_.on_batch_end();
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

#include "runtime/socket/datagram_relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "runtime/loop/clock.h"
#include "runtime/socket/datagram_port.h"

namespace runtime {
namespace {

using base::Result;

// Some hundred datagrams, as far as the system allows.
constexpr int kBufferBytes = 4 * 1024 * 1024;
constexpr size_t kBatch = 64;
constexpr size_t kMaxMessage = DatagramRelay::kHeadBytes + UdpSocket::kMaxDatagramBytes;

uint8_t* put(uint8_t* at, const base::Endpoint& endpoint) {
    std::memcpy(at, endpoint.ip.bytes.data(), 16);
    at[16] = static_cast<uint8_t>(endpoint.port >> 8);
    at[17] = static_cast<uint8_t>(endpoint.port);
    return at + 18;
}

base::Endpoint endpoint_at(const uint8_t* at) {
    base::Endpoint endpoint;
    std::memcpy(endpoint.ip.bytes.data(), at, 16);
    endpoint.port = static_cast<uint16_t>(at[16] << 8 | at[17]);
    return endpoint;
}

}  // namespace

Result<OwnedDescriptors> DatagramRelay::open_passing() {
    close();
    auto [mine, theirs] = TRY(process_channel_pair());
    passing_ = *mine.release_one();
    setsockopt(passing_, SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
    detail::datagram_relay = this;
    return std::move(theirs);
}

Result<void> DatagramRelay::open_receiving(int fd) {
    close();
    TRY(receiving_.open(fd));
    receiver_ = spawn("other-process-udp", [this] { receive(); });
    if (!receiver_) return base::fail(base::Code::kSystem, "no coroutine for datagrams of the other process");
    return {};
}

void DatagramRelay::close() {
    if (detail::datagram_relay == this) detail::datagram_relay = nullptr;
    if (passing_ >= 0) ::close(std::exchange(passing_, -1));
    if (receiver_) std::exchange(receiver_, {}).cancel_and_join();
    receiving_.close();
}

void DatagramRelay::pass(const base::Endpoint& port, const base::Endpoint& from, const base::IpAddress& destination,
                         std::span<const uint8_t> bytes) {
    std::array<uint8_t, kHeadBytes> head;
    std::memcpy(put(put(head.data(), port), from), destination.bytes.data(), 16);
    std::array<iovec, 2> parts{{{head.data(), head.size()}, {const_cast<uint8_t*>(bytes.data()), bytes.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    ++(sendmsg(passing_, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? counters_.passed : counters_.lost);
}

void DatagramRelay::receive() {
    static std::array<uint8_t, kMaxMessage> buffer;
    while (receiving_.wait_readable(Deadline::never())) {
        for (size_t i = 0; i < kBatch; ++i) {
            const ssize_t n = recv(receiving_.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (n == 0) return;
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && errno != EAGAIN) return;
            if (n < 0) {
                receiving_.read_would_block();
                break;
            }
            take(std::span(buffer).first(static_cast<size_t>(n)));
        }
        DatagramPort::end_batches();
        if (!yield()) return;
    }
}

void DatagramRelay::take(std::span<uint8_t> message) {
    DatagramPort* port = message.size() > kHeadBytes ? DatagramPort::find(endpoint_at(message.data())) : nullptr;
    if (!port) {
        ++counters_.unknown;
        return;
    }
    base::IpAddress destination;
    std::memcpy(destination.bytes.data(), message.data() + 36, 16);
    port->take_from_other_process(message.subspan(kHeadBytes), endpoint_at(message.data() + 18), destination);
}

}  // namespace runtime

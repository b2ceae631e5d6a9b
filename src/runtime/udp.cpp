#include "runtime/udp.h"

#include <sys/socket.h>

#include "runtime/address.h"
#include "runtime/coroutine_state.h"
#include "runtime/reactor.h"

namespace runtime {
namespace {

constexpr size_t kDatagramUnits = 4096;  // for account()

class Udp final : public UdpSocket {
  public:
    base::Result<void> open(const SocketAddress& address) {
        const int fd = TRY(detail::bound_socket(address, SOCK_DGRAM));
        port_ = detail::local_port(fd);
        return watch_.open(fd);
    }

    base::Result<Datagram> receive(std::span<uint8_t> buffer, Deadline deadline) override {
        TRY(detail::account(kDatagramUnits));
        while (true) {
            TRY(watch_.wait_readable(deadline));
            Datagram got;
            got.from_length = sizeof got.from;
            const ssize_t n = recvfrom(watch_.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                                       reinterpret_cast<sockaddr*>(&got.from), &got.from_length);
            if (n >= 0) {
                got.bytes = static_cast<size_t>(n);
                return got;
            }
            if (errno == EAGAIN) {
                watch_.read_would_block();
            } else if (errno != EINTR) {
                return base::fail_errno("receiving a datagram", errno);
            }
        }
    }

    base::Result<void> send_to(std::span<const uint8_t> bytes, const sockaddr_storage& to, socklen_t to_length,
                               Deadline deadline) override {
        TRY(detail::account(kDatagramUnits));
        while (true) {
            TRY(watch_.wait_writable(deadline));
            const ssize_t n = sendto(watch_.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                                     reinterpret_cast<const sockaddr*>(&to), to_length);
            if (n >= 0) return {};
            if (errno == EAGAIN) {
                watch_.write_would_block();
            } else if (errno != EINTR) {
                return base::fail_errno("sending a datagram", errno);
            }
        }
    }

    uint16_t port() const override { return port_; }

  private:
    detail::Watch watch_;
    uint16_t port_ = 0;
};

}  // namespace

base::Result<std::unique_ptr<UdpSocket>> bind_udp(const SocketAddress& address) {
    auto socket = std::make_unique<Udp>();
    TRY(socket->open(address));
    return socket;
}

}  // namespace runtime

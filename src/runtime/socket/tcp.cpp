#include "runtime/socket/tcp.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/socket/address.h"
#include "runtime/socket/dns.h"
#include "runtime/socket/shared_sockets.h"
#include "runtime/socket/tcp_stream.h"

namespace runtime {
namespace {

constexpr int kBacklog = 4096;              // the system reduces it to its own limit
constexpr int64_t kExhaustedPauseMs = 100;  // pause after running out of descriptors or memory
constexpr int64_t kExhaustedLogMs = 5000;
constexpr size_t kAcceptUnits = 32 * 1024;  // lets others run after 32 accepts in a row

class Listener final : public TcpListener {
  public:
    base::Result<void> open(const SocketAddress& address) {
        const int fd = TRY(detail::bound_socket(address, SOCK_STREAM));
        if (listen(fd, kBacklog) < 0) {
            const int error = errno;
            ::close(fd);
            return base::fail_errno(fmt::format("listening on {}", address.text()), error);
        }
        port_ = detail::local_endpoint(fd).port;
        client_socket_.open(fd);
        return watch_.open(fd);
    }

    base::Result<std::unique_ptr<ByteStream>> accept(Deadline deadline) override {
        TRY(detail::account(kAcceptUnits));
        while (true) {
            TRY(watch_.wait_readable(deadline));
            if (detail::clients_are_held()) {
                TRY(detail::await_clients(deadline));
                continue;
            }
            detail::RawAddress from;
            const int fd = accept4(watch_.fd(), from.get(), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd >= 0) return detail::TcpStream::make(fd, detail::endpoint_of(from.storage));
            TRY(after_failure(errno, deadline));
        }
    }

    uint16_t port() const override { return port_; }

  private:
    base::Result<void> after_failure(int error, Deadline deadline) {
        switch (error) {
            case EAGAIN:
                watch_.read_would_block();
                return {};
            case EMFILE:
            case ENFILE:
            case ENOBUFS:
            case ENOMEM:
                return pause(error, deadline);
            case EBADF:
            case EINVAL:
            case ENOTSOCK:
            case EOPNOTSUPP:
            case EFAULT:
                return base::fail_errno("accepting", error);
            default:  // this one connection failed before it was accepted
                return detail::account(kAcceptUnits);
        }
    }

    base::Result<void> pause(int error, Deadline deadline) {
        const int64_t now = now_ms();
        if (now >= next_log_ms_ && base::log::enabled(base::log::Level::kWarn)) {
            next_log_ms_ = now + kExhaustedLogMs;
            base::log::write(base::log::Level::kWarn, fmt::format("port {}: cannot accept connections", port_), error);
        }
        TRY(sleep_until(earlier(deadline, Deadline::in_ms(kExhaustedPauseMs))));
        if (deadline.passed()) return base::fail(base::Code::kTimeout, "timed out");
        return {};
    }

    detail::Watch watch_;
    detail::ClientSocket client_socket_;
    uint16_t port_ = 0;
    int64_t next_log_ms_ = 0;
};

base::Result<std::unique_ptr<ByteStream>> connect_one(const base::Endpoint& to, Deadline deadline) {
    const detail::RawAddress raw(to, !to.is_v4());
    const int fd = socket(raw.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return base::fail_errno("opening a socket", errno);
    if (connect(fd, raw.get(), raw.length) < 0 && errno != EINPROGRESS) {
        const int error = errno;
        close(fd);
        return base::fail_errno(to.text(), error);
    }
    // Added to the set only now: a socket that was never connected reports a hang-up.
    auto stream = TRY(detail::TcpStream::make(fd, to));
    auto& watch = stream->watch();
    while (true) {
        watch.await_writable_edge();
        TRY(watch.wait_writable(deadline), to.text());
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error) return base::fail_errno(to.text(), error);
        detail::RawAddress peer;
        if (getpeername(fd, peer.get(), &peer.length) == 0) return stream;
    }
}

}  // namespace

base::Result<std::unique_ptr<TcpListener>> listen_tcp(const SocketAddress& address) {
    auto listener = std::make_unique<Listener>();
    TRY(listener->open(address));
    return listener;
}

base::Result<std::unique_ptr<ByteStream>> connect_tcp(const std::string& host, uint16_t port, Deadline deadline) {
    const auto addresses = TRY(resolve(host, deadline));
    const std::string what = fmt::format("connecting to {}", detail::address_text(host, port));
    const auto endpoint = [&](const std::string& ip) {
        return base::Endpoint{base::IpAddress::parse(ip).value_or(base::IpAddress()), port};
    };
    for (size_t i = 0; i + 1 < addresses.size(); ++i) {
        // The remaining time is divided among the remaining addresses.
        const int64_t left = deadline.left_us();
        const auto share = deadline.is_never()
                               ? Deadline::in_ms(5000)
                               : Deadline::at_us(now_us() + left / static_cast<int64_t>(addresses.size() - i));
        auto stream = connect_one(endpoint(addresses[i]), share);
        if (stream || cancelled()) return stream;
    }
    return TRY(connect_one(endpoint(addresses.back()), deadline), what);
}

}  // namespace runtime

#include "runtime/socket/tcp_stream.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>

#include "runtime/loop/coroutine_state.h"

namespace runtime {
namespace detail {
namespace {

// The overhead of a system call, expressed in bytes, for account().
constexpr size_t kCallUnits = 2048;
// A paced socket that yields at least this many bytes in a poll is read again soon, so that neither its buffer fills up
// nor its sender waits.
constexpr size_t kMuchInput = 48 * 1024;

bool peer_broke(int error) {
    switch (error) {
        case ECONNRESET:
        case EPIPE:
        case ETIMEDOUT:
        case ECONNABORTED:
        case ENOTCONN:
        case EHOSTUNREACH:
        case ENETUNREACH:
            return true;
        default:
            return false;
    }
}

// Distinguishes the peer's actions from system faults.
std::unexpected<base::Error> io_error(const char* what, int error) {
    auto failed = base::fail_errno(what, error);
    if (!peer_broke(error)) return failed;
    return std::unexpected(base::Error(base::Code::kClosed, failed.error().text(), error));
}

size_t total(std::span<const iovec> parts) {
    size_t bytes = 0;
    for (const auto& part : parts) bytes += part.iov_len;
    return bytes;
}

// On a sender thread: knows nothing but the descriptor.
ByteStream::WriteResult send_to(int fd, std::span<iovec> parts) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    while (true) {
        const ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) return {n, static_cast<size_t>(n) < total(parts)};
        if (errno == EAGAIN) return {0, true};
        if (errno != EINTR) return {-errno};
    }
}

ByteStream::WriteResult send_lent(void* fd, std::span<iovec> parts, DatagramSink&) {
    return send_to(static_cast<int>(reinterpret_cast<intptr_t>(fd)), parts);
}

}  // namespace

std::span<iovec> take_off(std::span<iovec> parts, size_t n) {
    while (!parts.empty() && n >= parts.front().iov_len) {
        n -= parts.front().iov_len;
        parts = parts.subspan(1);
    }
    if (n) {
        parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + n;
        parts.front().iov_len -= n;
    }
    return parts;
}

// Closing with unread input makes the kernel send a reset, and the peer may then lose the last bytes sent to it.
// Pending input is discarded here; to be certain, shut writing down and read to the end.
TcpStream::~TcpStream() {
    static std::array<uint8_t, 256 * 1024> nowhere;  // with MSG_TRUNC TCP does not even copy to it
    if (watch_.fd() < 0 || watch_.gone()) return;
    recv(watch_.fd(), nowhere.data(), nowhere.size(), MSG_TRUNC | MSG_DONTWAIT);
}

base::Result<std::unique_ptr<TcpStream>> TcpStream::make(int fd, const base::Endpoint& peer) {
    auto stream = std::make_unique<TcpStream>();
    TRY(stream->watch_.open(fd));
    stream->peer_ = peer;
    return stream;
}

base::Result<ByteStream::TryRead> TcpStream::try_read(std::span<uint8_t> buffer) {
    CHECK(!buffer.empty());
    buffer = buffer.first(std::min(buffer.size(), watch_.room_to_read()));
    while (watch_.readable() && !buffer.empty()) {
        const ssize_t n = recv(watch_.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n == 0) return TryRead{0, true};
        if (n > 0) {
            if (static_cast<size_t>(n) < buffer.size()) watch_.read_fell_short();
            if (static_cast<size_t>(n) >= kMuchInput) watch_.on_much_input();
            watch_.was_read(static_cast<size_t>(n));
            return TryRead{static_cast<size_t>(n), false};
        }
        if (errno == EAGAIN) {
            watch_.read_would_block();
        } else if (errno != EINTR) {
            return io_error("reading", errno);
        }
    }
    return TryRead{};
}

base::Result<size_t> TcpStream::read(std::span<uint8_t> buffer, Deadline deadline) {
    TRY(account(kCallUnits));
    while (true) {
        const TryRead got = TRY(try_read(buffer));
        if (got.bytes || got.end) {
            current().progress += static_cast<uint32_t>(got.bytes);
            return got.bytes;
        }
        TRY(watch_.wait_readable(deadline));
    }
}

base::Result<size_t> TcpStream::try_writev(std::span<const iovec> parts) { return send_parts(parts, 0); }

base::Result<size_t> TcpStream::send_parts(std::span<const iovec> parts, int flags) {
    if (parts.empty()) return 0;
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = std::min<size_t>(parts.size(), IOV_MAX);
    while (watch_.writable()) {
        const ssize_t n = sendmsg(watch_.fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT | flags);
        if (n >= 0) {
            // A short send means that the buffer is full; the kernel will report an edge.
            if (static_cast<size_t>(n) < total(parts.first(message.msg_iovlen))) watch_.write_would_block();
            return static_cast<size_t>(n);
        }
        if (errno == EAGAIN) {
            watch_.write_would_block();
        } else if (errno != EINTR) {
            return io_error("writing", errno);
        }
    }
    watch_.write_would_block();
    return 0;
}

ByteStream::LentWrite TcpStream::lend_write() {
    if (!watch_.lend_write()) return {};
    return {&send_lent, reinterpret_cast<void*>(static_cast<intptr_t>(watch_.fd())), watch_.fd()};
}

base::Result<size_t> TcpStream::end_lent_write(WriteResult result) {
    if (result.bytes < 0) return io_error("writing", static_cast<int>(-result.bytes));
    watch_.write_ended(result.blocked);
    return static_cast<size_t>(result.bytes);
}

bool TcpStream::has_input() {
    uint8_t byte;
    while (watch_.readable()) {
        if (recv(watch_.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) return true;
        if (errno == EAGAIN)
            watch_.read_would_block();
        else if (errno != EINTR)
            return true;
    }
    return false;
}

base::Result<ByteStream::TryRead> TcpStream::read_on_thread(std::span<uint8_t> buffer) const {
    while (true) {
        const ssize_t n = recv(watch_.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n >= 0) return TryRead{static_cast<size_t>(n), n == 0};
        if (errno == EAGAIN) return TryRead{};
        if (errno != EINTR) return io_error("reading", errno);
    }
}

base::Result<size_t> TcpStream::write_on_thread(std::span<const uint8_t> bytes) const {
    iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    const WriteResult result = send_to(watch_.fd(), std::span(&part, 1));
    if (result.bytes < 0) return io_error("writing", static_cast<int>(-result.bytes));
    return static_cast<size_t>(result.bytes);
}

base::Result<size_t> TcpStream::try_send_file(std::span<const uint8_t> head, int file, uint64_t offset, size_t bytes) {
    size_t sent = 0;
    if (!head.empty()) {
        const iovec part{const_cast<uint8_t*>(head.data()), head.size()};
        sent = TRY(send_parts(std::span(&part, 1), MSG_MORE));
        if (sent < head.size()) return sent;
    }
    auto at = static_cast<off_t>(offset);
    while (watch_.writable()) {
        const ssize_t n = sendfile(watch_.fd(), file, &at, bytes);
        if (n >= 0) return sent + static_cast<size_t>(n);
        if (errno == EAGAIN) {
            watch_.write_would_block();
        } else if (errno != EINTR) {
            return io_error("sending a file", errno);
        }
    }
    watch_.write_would_block();
    return sent;
}

base::Result<void> TcpStream::await_writable(Deadline deadline, size_t moved) {
    current().progress += static_cast<uint32_t>(std::min<size_t>(moved, UINT16_MAX));
    TRY(account(kCallUnits));
    if (!watch_.writable()) TRY(watch_.wait_writable(deadline));
    return {};
}

base::Result<size_t> TcpStream::try_write(std::span<const uint8_t> bytes) {
    const iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    return try_writev(std::span(&part, 1));
}

base::Result<void> TcpStream::writev(std::span<iovec> parts, Deadline deadline) {
    parts = take_off(parts, 0);
    while (!parts.empty()) {
        TRY(account(kCallUnits));
        const size_t n = TRY(try_writev(parts));
        current().progress += static_cast<uint32_t>(std::min<size_t>(n, UINT16_MAX));
        parts = take_off(parts, n);
        if (!parts.empty() && !watch_.writable()) TRY(watch_.wait_writable(deadline));
    }
    return {};
}

base::Result<void> TcpStream::write(std::span<const uint8_t> bytes, Deadline deadline) {
    iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    return writev(std::span(&part, 1), deadline);
}

bool TcpStream::peer_gone() const {
    if (watch_.gone()) return true;
    pollfd ask{watch_.fd(), POLLRDHUP, 0};
    return poll(&ask, 1, 0) > 0 && (ask.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void TcpStream::set_no_delay(bool on) {
    const int value = on;
    setsockopt(watch_.fd(), IPPROTO_TCP, TCP_NODELAY, &value, sizeof value);
}

void TcpStream::acknowledge_soon() {
    const int on = 1;
    setsockopt(watch_.fd(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

void TcpStream::shutdown_write() {
    shutdown(watch_.fd(), SHUT_WR);
    shut_ = true;
}

base::Result<uint64_t> TcpStream::try_finish() {
    int unacknowledged = 0;  // bytes, the FIN counted as one
    if (ioctl(watch_.fd(), SIOCOUTQ, &unacknowledged) < 0) return io_error("the end", errno);
    if (unacknowledged > 0 && !shut_) shutdown_write();
    return static_cast<uint64_t>(unacknowledged);
}

}  // namespace detail

std::span<uint8_t> shared_read_buffer() {
    static std::array<uint8_t, 256 * 1024> buffer;
    return buffer;
}

base::Result<std::span<uint8_t>> read_shared(ByteStream& stream, Deadline deadline) {
    // read() does not yield between taking the bytes and returning.
    const auto buffer = shared_read_buffer();
    return buffer.first(TRY(stream.read(buffer, deadline)));
}

}  // namespace runtime

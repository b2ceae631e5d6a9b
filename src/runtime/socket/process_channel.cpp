#include "runtime/socket/process_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "runtime/loop/coroutine_state.h"
#include "runtime/socket/tcp_stream.h"

namespace runtime {
namespace {

using base::Code;
using base::fail;
using base::fail_errno;
using base::Result;

constexpr size_t kMessageUnits = 4096;  // for account()

struct Control {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> bytes{};
};

std::unexpected<base::Error> failed(const char* what) {
    const int error = errno;
    if (error == EPIPE || error == ECONNRESET || error == ENOTCONN)
        return std::unexpected(base::Error(Code::kClosed, "the other process has closed the channel", error));
    return fail_errno(what, error);
}

// False: there is no room.
Result<bool> try_send(int channel, const ProcessMessage& message) {
    const std::vector<int>& fds = message.descriptors.all();
    if (message.text.empty() || message.text.size() > kMaxMessageBytes || fds.size() > kMaxDescriptors)
        return fail(Code::kLimit, "no message of a channel between processes");
    iovec part{const_cast<char*>(message.text.data()), message.text.size()};
    Control control;
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (!fds.empty()) {
        header.msg_control = control.bytes.data();
        header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
        cmsghdr* rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
        std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
    }
    while (true) {
        if (sendmsg(channel, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
        if (errno == EAGAIN || errno == ETOOMANYREFS) return false;
        if (errno != EINTR) return failed("sending to the other process");
    }
}

OwnedDescriptors descriptors_in(msghdr& header) {
    std::vector<int> all;
    for (cmsghdr* one = CMSG_FIRSTHDR(&header); one; one = CMSG_NXTHDR(&header, one)) {
        if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
        const size_t count = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int), before = all.size();
        all.resize(before + count);
        std::memcpy(all.data() + before, CMSG_DATA(one), count * sizeof(int));
    }
    return OwnedDescriptors(std::move(all));
}

// Nothing: there is none.
Result<std::optional<ProcessMessage>> try_receive(int channel) {
    static std::array<char, kMaxMessageBytes> buffer;
    iovec part{buffer.data(), buffer.size()};
    Control control;
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.bytes.data();
    header.msg_controllen = control.bytes.size();
    ssize_t n = 0;
    do n = recvmsg(channel, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) return std::nullopt;
    if (n < 0) return failed("receiving from the other process");
    ProcessMessage message{{buffer.data(), static_cast<size_t>(n)}, descriptors_in(header)};
    if (n == 0) return fail(Code::kClosed, "the other process has closed the channel");
    if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) return fail(Code::kProtocol, "a message is too long");
    return message;
}

Result<void> poll_for(int channel, short events, int timeout_ms) {
    pollfd ask{channel, events, 0};
    const int ready = poll(&ask, 1, timeout_ms);
    if (ready < 0 && errno != EINTR) return fail_errno("waiting for the other process", errno);
    if (ready == 0) return fail(Code::kTimeout, "the other process did not answer in time");
    return {};
}

}  // namespace

OwnedDescriptors::~OwnedDescriptors() {
    for (const int fd : all_) ::close(fd);
}

std::optional<int> OwnedDescriptors::release_one() {
    if (all_.empty()) return {};
    const int first = all_.front();
    all_.erase(all_.begin());
    return first;
}

Result<std::pair<OwnedDescriptors, OwnedDescriptors>> process_channel_pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_errno("a channel between processes", errno);
    return std::pair(OwnedDescriptors({ends[0]}), OwnedDescriptors({ends[1]}));
}

Result<void> send_message_blocking(int channel, const ProcessMessage& message, int timeout_ms) {
    while (!TRY(try_send(channel, message))) TRY(poll_for(channel, POLLOUT, timeout_ms));
    return {};
}

Result<ProcessMessage> receive_message_blocking(int channel, int timeout_ms) {
    while (true) {
        if (auto message = TRY(try_receive(channel))) return *std::move(message);
        TRY(poll_for(channel, POLLIN, timeout_ms));
    }
}

void ProcessChannel::shut_down() {
    if (watch_.fd() >= 0) ::shutdown(watch_.fd(), SHUT_RDWR);
}

Result<void> ProcessChannel::send(ProcessMessage message, Deadline deadline) {
    TRY(detail::account(kMessageUnits));
    while (!TRY(try_send(watch_.fd(), message))) {
        watch_.write_would_block();
        TRY(watch_.wait_writable(deadline));
    }
    return {};
}

Result<ProcessMessage> ProcessChannel::receive(Deadline deadline) {
    TRY(detail::account(kMessageUnits));
    while (true) {
        TRY(watch_.wait_readable(deadline));
        if (auto message = TRY(try_receive(watch_.fd()))) return *std::move(message);
        watch_.read_would_block();
    }
}

Result<std::unique_ptr<ByteStream>> local_stream(int fd) {
    OwnedDescriptors owned({fd});
    int domain = 0, type = 0;
    socklen_t length = sizeof domain;
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length);
    length = sizeof type;
    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length);
    sockaddr_storage peer;
    length = sizeof peer;
    if (domain != AF_UNIX || type != SOCK_STREAM || getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0)
        return fail(Code::kOther, "not a connected Unix stream");
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return fail_errno("a Unix stream", errno);
    return TRY(detail::TcpStream::make(*owned.release_one(), {*base::IpAddress::parse("127.0.0.1"), 0}));
}

Result<std::pair<std::unique_ptr<ByteStream>, OwnedDescriptors>> local_stream_pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_errno("a stream between processes", errno);
    OwnedDescriptors other({ends[1]});
    auto stream = TRY(local_stream(ends[0]));
    return std::pair(std::move(stream), std::move(other));
}

}  // namespace runtime

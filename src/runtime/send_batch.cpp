#include "runtime/send_batch.h"

#include <liburing.h>
#include <sys/socket.h>

#include "base/log.h"
#include "runtime/tcp_stream.h"

namespace runtime {

struct SendBatch::Ring {
    io_uring uring{};
    std::array<msghdr, kMost> messages{};
    ~Ring() { io_uring_queue_exit(&uring); }
};

SendBatch::SendBatch() = default;
SendBatch::~SendBatch() = default;

SendBatch& SendBatch::shared() {
    static SendBatch instance;
    return instance;
}

bool SendBatch::usable() {
    if (!allowed_) return false;
    if (state_ != State::kUnknown) return state_ == State::kUsable;
    state_ = State::kRefused;
    io_uring uring{};
    io_uring_params params{};
    // The work is done within our own call, and by nobody else.
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    if (int error = io_uring_queue_init_params(kMost, &uring, &params); error < 0) {
        base::log::write(base::log::Level::kTrace, "io_uring is refused: each viewer is sent to by a call of its own",
                         -error);
        return false;
    }
    ring_ = std::make_unique<Ring>();
    ring_->uring = uring;
    state_ = State::kUsable;
    return true;
}

bool SendBatch::add(ByteStream& stream, std::span<const iovec> parts, void* whose) {
    if (full() || parts.empty() || parts.size() > kMostParts || stream.plain_fd() < 0) return false;
    auto& tcp = static_cast<detail::TcpStream&>(stream);  // nobody else has one
    if (!tcp.watch().writable()) return false;
    Entry& entry = entries_[size_++];
    entry.stream = &tcp;
    entry.whose = whose;
    entry.asked = 0;
    entry.count = parts.size();
    for (size_t i = 0; i < parts.size(); ++i) {
        entry.parts[i] = parts[i];
        entry.asked += parts[i].iov_len;
    }
    return true;
}

void SendBatch::submit() {
    if (size_ == 0) return;
    constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
    for (size_t i = 0; i < size_; ++i) {
        Entry& entry = entries_[i];
        io_uring_sqe* sqe = io_uring_get_sqe(&ring_->uring);
        const int fd = entry.stream->watch().fd();
        if (entry.count == 1) {
            io_uring_prep_send(sqe, fd, entry.parts[0].iov_base, entry.parts[0].iov_len, kFlags);
        } else {
            msghdr& message = ring_->messages[i];
            message = {};
            message.msg_iov = entry.parts.data();
            message.msg_iovlen = entry.count;
            io_uring_prep_sendmsg(sqe, fd, &message, kFlags);
        }
        io_uring_sqe_set_data64(sqe, i);
        entry.moved = -EINTR;  // until told: it is tried again, alone
    }
    size_t told = 0;
    while (told < size_) {
        int error = io_uring_submit_and_wait(&ring_->uring, static_cast<unsigned>(size_ - told));
        if (error < 0 && error != -EINTR) break;
        io_uring_cqe* done = nullptr;
        while (io_uring_peek_cqe(&ring_->uring, &done) == 0) {
            entries_[io_uring_cqe_get_data64(done)].moved = done->res;
            io_uring_cqe_seen(&ring_->uring, done);
            ++told;
        }
    }
}

base::Result<size_t> SendBatch::result(Entry& entry) {
    if (entry.moved == -EINTR) return entry.stream->try_writev({entry.parts.data(), entry.count});
    return entry.stream->after_send(entry.moved, entry.asked);
}

}  // namespace runtime

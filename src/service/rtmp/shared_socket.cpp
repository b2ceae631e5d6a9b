#include "service/rtmp/shared_socket.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "protocol/rtmp/stream_id_rewriter.h"
#include "runtime/loop/cpu_slice.h"

namespace service::rtmp {

using base::CloseReason;
using base::Code;
using base::Result;
using runtime::Deadline;

namespace {
// Bytes of a log copied at once to replace the message stream id.
constexpr size_t kRewrittenBytes = 32 * 1024;
}  // namespace

// Implements only the part of ByteStream that a Viewer uses; nothing waits on a share.
class SharedSocket::Share final : public runtime::ByteStream {
  public:
    explicit Share(SharedSocket& shared) : shared_(shared) {}
    ~Share() override { shared_.leave(*this); }

    Result<size_t> read(std::span<uint8_t>, Deadline) override { return no_waiting(); }
    Result<void> write(std::span<const uint8_t>, Deadline) override { return no_waiting(); }
    Result<void> writev(std::span<iovec>, Deadline) override { return no_waiting(); }
    // Used only by a viewer that was reading the plain socket when it became shared.
    Result<TryRead> try_read(std::span<uint8_t> buffer) override { return shared_.socket_->try_read(buffer); }
    Result<size_t> try_write(std::span<const uint8_t> bytes) override {
        iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
        return shared_.write(*this, {&part, 1});
    }
    Result<size_t> try_writev(std::span<const iovec> parts) override { return shared_.write(*this, parts); }
    void park(runtime::ParkedHandler& handler) override { handler_ = &handler; }
    void unpark() override { handler_ = nullptr; }
    bool peer_gone() const override { return shared_.peer_gone(); }
    int plain_fd() const override { return -1; }
    void set_no_delay(bool on) override {
        if (on) shared_.socket_->set_no_delay(true);  // the other shares may still need it
    }
    void acknowledge_soon() override { shared_.socket_->acknowledge_soon(); }
    void pace_reads(int64_t) override {}
    void shutdown_write() override {}
    // The connection may continue, and handles its end itself.
    Result<uint64_t> try_finish() override {
        if (shared_.failed()) return base::fail(Code::kClosed, shared_.why_);
        return shared_.socket_->try_drain();
    }
    std::string peer_ip() const override { return shared_.socket_->peer_ip(); }
    std::string peer_address() const override { return shared_.socket_->peer_address(); }
    bool is_tls() const override { return shared_.socket_->is_tls(); }

  private:
    friend class SharedSocket;
    static std::unexpected<base::Error> no_waiting() { return base::fail(Code::kSystem, "a share is never waited on"); }

    SharedSocket& shared_;
    runtime::ParkedHandler* handler_ = nullptr;
    bool waits_ = false;  // it has more to write
    bool wrote_ = false;  // it wanted to write when it was served
    std::optional<::rtmp::StreamIdRewriter> rewriter_;
};

SharedSocket::~SharedSocket() { CHECK(shares_.empty()); }

void SharedSocket::take(std::unique_ptr<runtime::ByteStream> socket, std::vector<base::Slice> messages) {
    CHECK(!socket_);
    socket_ = std::move(socket);
    control_queue_ = std::move(messages);
    socket_->park(*this);
    serve();
}

std::unique_ptr<runtime::ByteStream> SharedSocket::make_share() {
    auto share = std::make_unique<Share>(*this);
    shares_.push_back(share.get());
    return share;
}

std::unique_ptr<runtime::ByteStream> SharedSocket::make_share(uint32_t stream_id, uint32_t chunk_size) {
    auto share = std::make_unique<Share>(*this);
    share->rewriter_.emplace(stream_id, chunk_size);
    shares_.push_back(share.get());
    return share;
}

void SharedSocket::leave(Share& share) {
    std::erase(shares_, &share);
    if (serving_ == &share) serving_ = nullptr;
    if (inside_ != &share) return;
    inside_ = nullptr;
    // The peer could not parse what follows.
    fail("a played stream ended in the middle of a message", CloseReason::kSystemError);
}

void SharedSocket::send(base::Slice messages) {
    if (failed() || messages.empty()) return;
    if (control_queue_.size() >= kMaxControlMessages)
        return end("too many control messages wait to be sent", CloseReason::kTooSlow);
    control_queue_.push_back(std::move(messages));
    if (!inside_ && !blocked_) send_control();
}

std::unique_ptr<runtime::ByteStream> SharedSocket::release(std::vector<base::Slice>& unsent) {
    CHECK(shares_.empty() && !failed());
    socket_->unpark();
    unsent = std::move(control_queue_);
    return std::move(socket_);
}

void SharedSocket::fail(std::string_view why, CloseReason reason) {
    if (failed()) return;
    why_ = why;
    reason_ = reason;
}

void SharedSocket::end(std::string_view why, CloseReason reason) {
    if (failed()) return;
    fail(why, reason);
    handler_.on_shared_end(why_);
}

void SharedSocket::on_readable() {
    auto buffer = runtime::shared_read_buffer();
    const int64_t began_us = base::monotonic_us();
    while (!failed()) {
        auto got = socket_->try_read(buffer);
        if (!got) return end(got.error().text(), got.error().close_reason());
        received_bytes_ += got->bytes;
        if (got->bytes > 0) handler_.on_shared_input(buffer.first(got->bytes));
        if (got->end) return end("closed by the peer", CloseReason::kPeerClosed);
        if (got->bytes == 0) return;
        if (failed() || !runtime::slice_is_over(base::monotonic_us() - began_us)) continue;
        // The rest is processed later: park() reports data that is already available.
        socket_->unpark();
        return socket_->park(*this);
    }
}

void SharedSocket::on_writable() {
    blocked_ = false;
    serve();
}

void SharedSocket::on_hangup() { end("closed by the peer", CloseReason::kPeerClosed); }

// Serves until no share has data left, or the socket's buffer is full.
void SharedSocket::serve() {
    while (!blocked_ && !failed()) {
        if (!inside_ && !send_control()) return;
        Share* next = inside_ ? inside_ : next_waiting();
        if (!next) return;
        next->waits_ = next->wrote_ = false;
        serving_ = next;
        if (next->handler_) next->handler_->on_writable();
        if (serving_ != next) continue;  // it ended while it was served
        serving_ = nullptr;
        if (inside_ == next && !next->wrote_)
            inside_ = nullptr;  // it has nothing more to write, so its last message
                                // is complete
    }
}

SharedSocket::Share* SharedSocket::next_waiting() {
    for (size_t tried = 0; tried < shares_.size(); ++tried) {
        Share* share = shares_[next_++ % shares_.size()];
        if (share->waits_) return share;
    }
    return nullptr;
}

bool SharedSocket::others_wait(const Share& share) const {
    return std::ranges::any_of(shares_, [&](const Share* other) { return other != &share && other->waits_; });
}

// Returns whether the queue is empty.
bool SharedSocket::send_control() {
    while (!control_queue_.empty()) {
        auto sent = socket_->try_write(control_queue_.front());
        if (!sent) {
            end(sent.error().text(), sent.error().close_reason());
            return false;
        }
        sent_control_bytes_ += *sent;
        if (*sent < control_queue_.front().size()) {
            control_queue_.front() = control_queue_.front().sub(*sent);
            blocked_ = true;
            return false;
        }
        control_queue_.erase(control_queue_.begin());
    }
    return true;
}

Result<size_t> SharedSocket::write(Share& share, std::span<const iovec> parts) {
    if (failed()) return base::fail(Code::kClosed, why_);
    share.wrote_ = true;
    bool may = inside_ ? inside_ == &share : control_queue_.empty() && (!serving_ || serving_ == &share);
    if (blocked_ || !may) {
        share.waits_ = true;
        return 0;
    }
    bool in_rotation = others_wait(share) && parts.size() > 1;
    if (in_rotation) parts = parts.first(1);
    size_t wanted = 0;
    for (const iovec& part : parts) wanted += part.iov_len;
    auto sent = share.rewriter_ ? write_rewritten(share, parts) : socket_->try_writev(parts);
    if (!sent) {
        fail(sent.error().text(), sent.error().close_reason());
        return sent;
    }
    blocked_ = *sent < wanted;
    if (!blocked_) {
        inside_ = nullptr;
    } else if (*sent > 0) {
        inside_ = &share;
    }
    share.waits_ = blocked_ || in_rotation;  // a viewer writes less than all when the socket is full, and waits for
                                             // on_writable
    return sent;
}

// The log's bytes are shared by all its players, so this one's are copied.
Result<size_t> SharedSocket::write_rewritten(Share& share, std::span<const iovec> parts) {
    static std::array<uint8_t, kRewrittenBytes> copy;  // coroutines have small stacks
    size_t total = 0;
    for (const iovec& part : parts) {
        std::span<const uint8_t> rest(static_cast<const uint8_t*>(part.iov_base), part.iov_len);
        while (!rest.empty()) {
            const std::span<uint8_t> piece = std::span(copy).first(std::min(copy.size(), rest.size()));
            std::ranges::copy(rest.first(piece.size()), piece.begin());
            ::rtmp::StreamIdRewriter ahead = *share.rewriter_;
            ahead.rewrite(piece);
            const size_t sent = TRY(socket_->try_write(piece));
            share.rewriter_->rewrite(piece.first(sent));
            total += sent;
            if (sent < piece.size()) return total;
            rest = rest.subspan(sent);
        }
    }
    return total;
}

}  // namespace service::rtmp

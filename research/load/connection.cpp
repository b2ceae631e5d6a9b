#include "load/connection.h"

#include <algorithm>

#include "base/shrink.h"
#include "runtime/socket/tcp.h"

namespace load {

base::Result<void> Connection::open(runtime::Deadline deadline) {
    begun_us_ = base::monotonic_us();
    ++ledger_.opening;
    auto opened = converse(deadline);
    --ledger_.opening;
    if (!opened) {
        stream_.reset();
        release();
        ++ledger_.failed;
        ledger_.count_reason("opening", opened.error());
        return opened;
    }
    open_ = true;
    ++ledger_.open;
    ++ledger_.opened;
    on_opened();
    if (stream_) stream_->park(*this);
    return {};
}

base::Result<void> Connection::converse(runtime::Deadline deadline) {
    DialogOptions options{.random = fill_random};
    TRY(prepare(options, deadline));
    dialog_ = TRY(make_dialog(target_, role_, std::move(options)));
    if (target_.scheme == Scheme::kUdp) return {};
    stream_ = TRY(runtime::connect_tcp(target_.host, target_.port, deadline));
    stream_->set_no_delay(true);
    dialog_->start(unsent_);
    while (true) {
        if (!unsent_.empty()) TRY(stream_->write(std::exchange(unsent_, {}), deadline));
        if (dialog_->ready()) return {};
        auto bytes = TRY(runtime::read_shared(*stream_, deadline));
        if (bytes.empty()) return base::fail(base::Code::kClosed, "closed by the server");
        TRY(take(bytes));
    }
}

base::Result<void> Connection::take(std::span<const uint8_t> bytes) {
    arrival_us_ = base::monotonic_us();
    if (role_ == Role::kPlay) ledger_.bytes += bytes.size();
    on_bytes(bytes.size());
    return dialog_->feed(bytes, *this, unsent_);
}

void Connection::take_datagram(size_t track, std::span<const uint8_t> packet) {
    if (!dialog_) return;
    arrival_us_ = base::monotonic_us();
    ledger_.bytes += packet.size();
    on_bytes(packet.size());
    if (auto taken = dialog_->on_datagram(track, packet, *this); !taken) lose(taken.error());
}

base::Result<void> Connection::read_all() {
    auto buffer = runtime::shared_read_buffer();
    while (true) {
        auto got = TRY(stream_->try_read(buffer));
        if (got.end) return base::fail(base::Code::kClosed, "closed by the server");
        if (got.bytes == 0) return {};
        TRY(take(buffer.first(got.bytes)));
        if (!unsent_.empty()) TRY(flush());
    }
}

base::Result<void> Connection::flush() {
    size_t sent = TRY(stream_->try_write(unsent_));
    unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<ptrdiff_t>(sent));
    if (unsent_.empty()) {
        base::shrink(unsent_);
    } else {
        ++ledger_.stalled;
    }
    return {};
}

base::Result<size_t> Connection::write_in_segments(std::span<const uint8_t> bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
        auto piece = bytes.subspan(sent, std::min(segment_bytes_, bytes.size() - sent));
        size_t taken = TRY(stream_->try_write(piece));
        sent += taken;
        if (taken < piece.size()) break;
    }
    return sent;
}

void Connection::send(std::span<const uint8_t> bytes) {
    if (!open_) return;
    if (unsent_.empty()) {
        auto sent = segment_bytes_ ? write_in_segments(bytes) : stream_->try_write(bytes);
        if (!sent) return lose(sent.error());
        if (*sent == bytes.size()) return;
        bytes = bytes.subspan(*sent);
        ++ledger_.stalled;
    }
    if (unsent_.size() + bytes.size() > kMaxUnsent) {
        return lose(base::Error(base::Code::kLimit, "the server takes nothing any more"));
    }
    unsent_.insert(unsent_.end(), bytes.begin(), bytes.end());
}

void Connection::close() {
    if (!open_) return;
    open_ = false;
    --ledger_.open;
    stream_.reset();
    release();
}

void Connection::lose(const base::Error& error) {
    if (!open_) return;
    ++ledger_.lost;
    ledger_.count_reason(role_ == Role::kPlay ? "playing" : "publishing", error);
    close();
    on_ended();
}

void Connection::on_media(const MediaMessage& message) { on_media_message(message); }

void Connection::on_readable() {
    if (auto read = read_all(); !read) lose(read.error());
}

void Connection::on_writable() {
    if (unsent_.empty()) return;
    if (auto flushed = flush(); !flushed) lose(flushed.error());
}

void Connection::on_hangup() { lose(base::Error(base::Code::kClosed, "reset by the server")); }

}  // namespace load

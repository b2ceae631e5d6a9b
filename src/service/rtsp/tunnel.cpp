#include "service/rtsp/tunnel.h"

#include <algorithm>
#include <utility>

namespace service::rtsp {

using base::Code;
using base::Result;

namespace {

constexpr size_t kReadBytes = 4 * 1024;
// What a client may send on the connection of its GET: nothing is expected there.
constexpr size_t kMaxDiscarded = 64 * 1024;

}  // namespace

TunnelStream::TunnelStream(std::unique_ptr<runtime::ByteStream> out, std::unique_ptr<runtime::ByteStream> in,
                           std::vector<uint8_t> early, net::Admission::Ticket ticket)
    : out_(std::move(out)), in_(std::move(in)), ticket_(std::move(ticket)) {
    (void)decode(early);  // an error comes again with the next read
}

TunnelStream::~TunnelStream() = default;

Result<void> TunnelStream::decode(std::span<const uint8_t> text) {
    if (taken_ == decoded_.size()) {
        decoded_.clear();
        taken_ = 0;
    }
    broken_ = broken_ || !decoder_.feed(text, decoded_);
    if (!broken_) return {};
    return base::fail(Code::kProtocol, "the HTTP tunnel's POST is not base64");
}

size_t TunnelStream::take_decoded(std::span<uint8_t> buffer) {
    const size_t count = std::min(buffer.size(), decoded_.size() - taken_);
    std::copy_n(decoded_.begin() + static_cast<ptrdiff_t>(taken_), count, buffer.begin());
    taken_ += count;
    if (taken_ == decoded_.size()) {
        std::vector<uint8_t>().swap(decoded_);
        taken_ = 0;
    }
    return count;
}

Result<size_t> TunnelStream::read(std::span<uint8_t> buffer, runtime::Deadline deadline) {
    TRY(decode({}));  // what came with the head of the POST may be broken
    while (taken_ == decoded_.size()) {
        uint8_t text[kReadBytes];
        const size_t count = TRY(in_->read(text, deadline));
        if (count == 0) return 0;
        TRY(decode(std::span(text).first(count)));
    }
    return take_decoded(buffer);
}

// Reads until the connection has nothing more, as its edge is reported only once.
Result<runtime::ByteStream::TryRead> TunnelStream::try_read(std::span<uint8_t> buffer) {
    TRY(decode({}));
    TryRead result;
    while (result.bytes < buffer.size()) {
        if (taken_ == decoded_.size()) {
            uint8_t text[kReadBytes];
            const TryRead got = TRY(in_->try_read(text));
            result.end = got.end;
            if (got.bytes == 0) return result;
            TRY(decode(std::span(text).first(got.bytes)));
        }
        result.bytes += take_decoded(buffer.subspan(result.bytes));
    }
    return result;
}

void TunnelStream::park(runtime::ParkedHandler& handler) {
    handler_ = &handler;
    out_->park(out_side_);
    in_->park(in_side_);
}

void TunnelStream::unpark() {
    out_->unpark();
    in_->unpark();
    handler_ = nullptr;
}

// Each call of the handler may destroy the stream.
void TunnelStream::Side::on_readable() {
    if (!out_) return stream_.handler_->on_readable();
    uint8_t discarded[kReadBytes];
    for (size_t total = 0; total < kMaxDiscarded;) {
        auto got = stream_.out_->try_read(discarded);
        if (!got || got->end) return stream_.handler_->on_hangup();
        if (got->bytes == 0) return;
        total += got->bytes;
    }
    stream_.handler_->on_hangup();
}

void TunnelStream::Side::on_writable() {
    if (out_) stream_.handler_->on_writable();
}

Result<Tunnels::Half> Tunnels::wait(const std::string& ip, const std::string& cookie) {
    if (waiting_.size() >= kMaxWaiting) return base::fail(Code::kLimit, "too many tunnels wait for their POST");
    Waiting waiting;
    const auto [slot, added] = waiting_.emplace(std::pair(ip, cookie), &waiting);
    if (!added) return base::fail(Code::kBusy, "another GET has this x-sessioncookie");
    auto joined = waiting.joined.wait(runtime::Deadline::in_ms(kWaitMs));
    waiting_.erase(slot);
    if (!joined) return std::unexpected(std::move(joined.error()).with("waiting for the tunnel's POST"));
    return std::move(waiting.half);
}

bool Tunnels::join(const std::string& ip, const std::string& cookie, Half& half) {
    const auto slot = waiting_.find({ip, cookie});
    if (slot == waiting_.end() || slot->second->joined.is_set()) return false;
    slot->second->half = std::move(half);
    slot->second->joined.set();
    return true;
}

}  // namespace service::rtsp

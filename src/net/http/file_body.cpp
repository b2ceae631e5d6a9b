#include "net/http/file_body.h"

#include <sys/uio.h>

#include <algorithm>
#include <utility>

#include "runtime/senders/lent_write.h"
#include "runtime/senders/senders.h"

namespace net {

using runtime::Deadline;

namespace {

constexpr int64_t kReadTimeoutMs = 30'000;

// A buffer for a body that a sender thread encrypts, while there are enough.
class LentBuffer {
  public:
    LentBuffer() {
        const runtime::Senders* threads = runtime::senders();
        if (!threads || in_use >= FileBody::kLentAtOnce * threads->threads()) return;
        ++in_use;
        if (spare.empty()) {
            bytes_ = std::make_unique_for_overwrite<uint8_t[]>(FileBody::kLentBytes);
        } else {
            bytes_ = std::move(spare.back());
            spare.pop_back();
        }
    }
    ~LentBuffer() {
        if (!bytes_) return;
        --in_use;
        if (spare.size() < kMaxSpare) spare.push_back(std::move(bytes_));
    }
    LentBuffer(const LentBuffer&) = delete;

    // Empty: there is none.
    std::span<uint8_t> bytes() const { return {bytes_.get(), bytes_ ? FileBody::kLentBytes : 0}; }

  private:
    static constexpr size_t kMaxSpare = 16;
    static inline size_t in_use = 0;
    static inline std::vector<std::unique_ptr<uint8_t[]>> spare;
    std::unique_ptr<uint8_t[]> bytes_;
};

}  // namespace

FileBody::FileBody(runtime::ByteStream& stream, int64_t write_timeout_ms, std::function<void(size_t)> sent)
    : stream_(stream), write_timeout_ms_(write_timeout_ms), sent_(std::move(sent)), is_plain_(stream.plain_fd() >= 0) {}

// Most pieces never wait, and need no look at the clock.
Deadline FileBody::deadline() {
    if (!deadline_) deadline_ = Deadline::in_ms(write_timeout_ms_);
    return *deadline_;
}

base::Result<void> FileBody::send(std::string_view head, FileParts parts) {
    head_ = {reinterpret_cast<const uint8_t*>(head.data()), head.size()};
    for (FilePart& part : parts) {
        fetched_at_ = UINT64_MAX;
        while (part.length > 0 && !cut_) TRY(send_part(part));
    }
    if (!head_.empty()) TRY(stream_.write(head_, deadline()));
    // Above TLS some may be left, and the next request is read when the response has been sent.
    if (TRY(stream_.try_drain()) > 0) TRY(stream_.await_writable(deadline(), 0));
    return {};
}

// One step: sends what is in memory, or has a worker fetch it.
base::Result<void> FileBody::send_part(FilePart& part) {
    if (TRY(stream_.try_drain()) > 0) TRY(stream_.await_writable(deadline(), 0));
    const Attempt attempt = TRY(send_ready(part));
    if (attempt.ready == 0) {
        // Where the file system does not tell what is in memory, or it was dropped at once, this client's own bytes are
        // read.
        const bool shared = part.source->reads_now() && fetched_at_ != part.offset;
        return fetch(part, shared);
    }
    account(part, attempt.sent);
    if (part.length == 0) return {};
    // Nothing can be sent twice although the socket is writable: the file ends in the middle of a page.
    in_vain_ = attempt.sent > 0 ? 0 : in_vain_ + 1;
    if (in_vain_ > 1) return fetch(part, false);
    TRY(stream_.await_writable(deadline(), attempt.sent));
    return {};
}

// What is in memory.
base::Result<FileBody::Attempt> FileBody::send_ready(const FilePart& part) {
    const runtime::disk::FileSource& source = *part.source;
    if (is_plain_ && source.sends_now() && part.length > kCopiedBytes && !part.is_rewritten) {
        const size_t ready = source.resident(part.offset, std::min<uint64_t>(part.length, source.kMaxResident));
        if (ready == 0) return Attempt{};
        return Attempt{ready, TRY(stream_.try_send_file(head_, source.fd(), part.offset, ready))};
    }
    if (!is_plain_ && part.length >= kMinLentBytes) {
        const LentBuffer own;
        if (!own.bytes().empty()) return send_by_thread(part, own.bytes());
    }
    const auto buffer = runtime::shared_read_buffer().first(std::min<uint64_t>(part.length, kPieceBytes));
    const size_t ready = source.read_now(buffer, part.offset);
    if (ready == 0) return Attempt{};
    const iovec all[] = {{const_cast<uint8_t*>(head_.data()), head_.size()}, {buffer.data(), ready}};
    return Attempt{ready, TRY(stream_.try_writev(std::span(all).subspan(head_.empty() ? 1 : 0)))};
}

base::Result<FileBody::Attempt> FileBody::send_by_thread(const FilePart& part, std::span<uint8_t> buffer) {
    const size_t ready = part.source->read_now(buffer.first(std::min<uint64_t>(part.length, kLentBytes)), part.offset);
    if (ready == 0) return Attempt{};
    const iovec all[] = {{const_cast<uint8_t*>(head_.data()), head_.size()}, {buffer.data(), ready}};
    return Attempt{ready, TRY(runtime::write_by_sender(stream_, std::span(all).subspan(head_.empty() ? 1 : 0)))};
}

// shared: into the page cache, for everybody who wants it. Otherwise the bytes are sent from here.
base::Result<void> FileBody::fetch(FilePart& part, bool shared) {
    if (!head_.empty()) TRY(stream_.write(std::exchange(head_, {}), deadline()));
    const Deadline late = Deadline::in_ms(kReadTimeoutMs);
    fetched_at_ = part.offset;
    if (shared) {
        TRY(part.source->load(part.offset, late));
        deadline_.reset();
        return {};
    }
    const auto bytes = TRY(part.source->read(part.offset, std::min<uint64_t>(part.length, kPieceBytes), late));
    cut_ = bytes.empty();
    deadline_.reset();
    TRY(stream_.write(bytes, deadline()));
    account(part, bytes.size());
    in_vain_ = 0;
    return {};
}

void FileBody::account(FilePart& part, size_t bytes) {
    const size_t of_head = std::min(bytes, head_.size());
    head_ = head_.subspan(of_head);
    bytes -= of_head;
    part.offset += bytes;
    part.length -= bytes;
    since_deadline_ += bytes;
    if (bytes > 0) sent_(bytes);
    if (since_deadline_ < kPieceBytes) return;
    since_deadline_ = 0;
    deadline_.reset();
}

}  // namespace net

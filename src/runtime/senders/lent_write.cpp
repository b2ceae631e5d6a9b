#include "runtime/senders/lent_write.h"

#include <algorithm>

#include "runtime/loop/sync.h"
#include "runtime/senders/senders.h"

namespace runtime {

namespace {

struct Waiter final : SendJobUser {
    void on_send_done(SendJob&) override { done.set(); }
    Event done{"a sender thread's write"};
};

}  // namespace

base::Result<size_t> write_by_sender(ByteStream& stream, std::span<const iovec> parts) {
    Senders* all = senders();
    const ByteStream::LentWrite write = all ? stream.lend_write() : ByteStream::LentWrite{};
    if (!write.call) return stream.try_writev(parts);
    Waiter waiter;
    SendJob& job = all->take_job();
    CHECK(parts.size() <= job.parts.size());
    std::ranges::copy(parts, job.parts.begin());
    job.part_count = static_cast<uint32_t>(parts.size());
    job.write = write;
    job.user = &waiter;
    job.notice = true;
    if (!all->lend(static_cast<uint32_t>(write.fd) % static_cast<uint32_t>(all->threads()), job)) {
        all->release(job);
        return stream.try_writev(parts);
    }
    all->publish();
    auto waited = waiter.done.wait(Deadline::never());
    const bool was_made = waited ? Senders::collect(job) : all->settle(job);
    const ByteStream::WriteResult result = job.result;
    all->release(job);
    if (was_made) {
        auto taken = stream.end_lent_write(result);
        if (waited) return taken;
    }
    return std::unexpected(std::move(waited.error()));
}

}  // namespace runtime

#pragma once
// SenderRing: entries of any size from the loop to one sender thread, in order, without locks. The loop writes entries
// and publishes them together; the thread reads them one after the other and releases each. Positions count bytes since
// the beginning and never wrap: "passed" compares them.

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/prefetch.h"
#include "base/result.h"

namespace runtime::detail {

class SenderRing {
  public:
    static constexpr size_t kBytes = 2 * 1024 * 1024;  // memory is used as it is touched
    static constexpr size_t kAlignment = 16;

    SenderRing() {
        void* memory =
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(memory != MAP_FAILED);
        bytes_ = static_cast<uint8_t*>(memory);
    }
    ~SenderRing() { munmap(bytes_, kBytes); }
    SenderRing(const SenderRing&) = delete;

    // ---- The loop's side

    // Room for an entry, until commit(). Null: the thread has too much to do yet.
    uint8_t* reserve(size_t bytes) {
        const size_t wanted = sizeof(Size) + bytes + kAlignment;
        size_t skip = kBytes - written_ % kBytes;
        if (skip >= wanted) skip = 0;
        if (!has_room(skip + wanted)) return nullptr;
        if (skip > 0) {
            put_size(written_, kSkip);
            written_ += skip;
        }
        return reserved();
    }
    uint8_t* reserved() { return bytes_ + written_ % kBytes + sizeof(Size); }
    // bytes: at most those reserved. Returns the entry's position.
    uint64_t commit(size_t bytes) {
        put_size(written_, static_cast<Size>(bytes));
        written_ += whole(bytes);
        base::prefetch(bytes_ + (written_ + kPrefetched) % kBytes, 2 * base::kCacheLineBytes);
        return written_;
    }
    bool has_unpublished() const { return written_ != head_.load(std::memory_order_relaxed); }
    void publish() { head_.store(written_, std::memory_order_seq_cst); }
    // The thread is done with all that was committed before this position was returned.
    bool has_passed(uint64_t position) {
        if (tail_seen_ < position) tail_seen_ = tail_.load(std::memory_order_acquire);
        return tail_seen_ >= position;
    }
    uint64_t position() const { return written_; }
    // On any thread: how far the thread has come.
    uint64_t passed() const { return tail_.load(std::memory_order_relaxed); }
    // Bytes of entries that the thread has not released yet.
    size_t used() {
        if (written_ - tail_seen_ > kBytes / 4) tail_seen_ = tail_.load(std::memory_order_acquire);
        return written_ - tail_seen_;
    }

    // ---- The thread's side

    // The next entry, valid until release(). Empty: none is published.
    std::span<uint8_t> next() {
        while (true) {
            if (read_ == head_seen_) {
                head_seen_ = head_.load(std::memory_order_seq_cst);
                if (read_ == head_seen_) return {};
            }
            Size size;
            std::memcpy(&size, bytes_ + read_ % kBytes, sizeof size);
            if (size != kSkip) return {bytes_ + read_ % kBytes + sizeof(Size), size};
            read_ += kBytes - read_ % kBytes;
            release();  // it may be the last there is
        }
    }
    void advance(std::span<uint8_t> entry) { read_ += whole(entry.size()); }
    // All entries that were advanced behind are the loop's again.
    void release() { tail_.store(read_, std::memory_order_release); }

  private:
    // The ring is larger than a cache: the entries after the next one are loaded while the loop is elsewhere. The
    // second line may be behind the ring's end, where prefetching does nothing.
    static constexpr size_t kPrefetched = 192;

    using Size = uint64_t;  // as wide as an entry's alignment needs
    static constexpr Size kSkip = UINT64_MAX;
    static_assert(kBytes % kAlignment == 0);

    static size_t whole(size_t bytes) { return (sizeof(Size) + bytes + kAlignment - 1) / kAlignment * kAlignment; }
    void put_size(uint64_t position, Size size) { std::memcpy(bytes_ + position % kBytes, &size, sizeof size); }
    bool has_room(size_t bytes) {
        if (written_ + bytes - tail_seen_ <= kBytes) return true;
        tail_seen_ = tail_.load(std::memory_order_acquire);
        return written_ + bytes - tail_seen_ <= kBytes;
    }

    uint8_t* bytes_;
    // Each side's own data is on cache lines of its own.
    alignas(64) uint64_t written_ = 0;
    uint64_t tail_seen_ = 0;
    alignas(64) std::atomic<uint64_t> head_ = 0;
    alignas(64) uint64_t read_ = 0;
    uint64_t head_seen_ = 0;
    alignas(64) std::atomic<uint64_t> tail_ = 0;
};

}  // namespace runtime::detail

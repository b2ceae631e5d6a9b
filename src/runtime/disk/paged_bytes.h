#pragma once
// PagedBytes: bytes in memory which sendfile() sends without copying them, as it does those of a file. They lie in one
// anonymous file of the process (memfd_create), in slots of 64 MB of its address space, of which only the pages that
// were written take memory. That memory is the process's shared memory (Shmem), not part of its heap.
//
// Pages that are still in a socket's queue stay what they were when the bytes are freed: the pages are taken out of the
// file, and whatever gets their slot next is written into new ones.
//
// Where the size of files is limited (RLIMIT_FSIZE), offsets of one file for all would be beyond it: then each has a
// file of its own, and no copy in large pages.
//
// Bytes that are read often are copied to pages of 2 MB, of which sendfile() has one to look up and to count instead of
// dozens (doc/decisions/148).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "runtime/disk/file_source.h"
#include "runtime/loop/coroutine.h"

namespace runtime::disk {

class PagedBytes : public std::enable_shared_from_this<PagedBytes> {
  public:
    // What so many readers save is about what a copy costs.
    static constexpr uint32_t kManyReaders = 1024;
    // Fewer bytes stay where they are: the gain is by the page, and a large page is taken in any case.
    static constexpr uint64_t kMinLargeBytes = 64 * 1024;
    static constexpr uint64_t kLargePageBytes = 2 * 1024 * 1024;
    // Of all PagedBytes: the copies take so much memory at most. Beyond that the one that was read longest ago makes
    // room, if nobody has read it for kUnreadUs.
    static constexpr uint64_t kMaxLargeBytes = 64 * 1024 * 1024;
    static constexpr int64_t kUnreadUs = 1'000'000;

    PagedBytes();
    ~PagedBytes();
    PagedBytes(const PagedBytes&) = delete;

    // Copies. Best in multiples of a page. Not after count_reader(). kSystem: there is no memory, or no descriptor.
    // kLimit: the process may not have so large a file.
    base::Result<void> append(std::span<const uint8_t> bytes);
    uint64_t size() const;

    // The bytes stay there while it is held, although these PagedBytes are destroyed or copied elsewhere.
    struct Part {
        std::shared_ptr<FileSource> source;
        uint64_t offset = 0;
        uint64_t length = 0;
    };
    // Where the bytes from `first` on are, `length` of them at most; usually one part.
    std::vector<Part> parts(uint64_t first, uint64_t length) const;

    // Somebody is about to read all of it. The kManyReaders-th has a worker copy it to large pages, if the kernel has
    // some to spare. Does not yield. Only for what a shared_ptr owns.
    void count_reader();
    bool in_large_pages() const;

  private:
    struct Slots;
    void copy_to_large_pages();
    void leave_large_pages();
    static void take_from_unread();

    std::shared_ptr<Slots> slots_;
    std::shared_ptr<Slots> large_;  // a copy in large pages; null: there is none
    uint32_t readers_ = 0;          // since the last attempt to copy it, or since its copy was freed
    int64_t last_read_us_ = 0;      // of the copy
    Task copying_;
};

}  // namespace runtime::disk

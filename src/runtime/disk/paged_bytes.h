#pragma once
// PagedBytes: bytes in memory which sendfile() sends without copying them, as it does those of a file. They lie in one
// anonymous file of the process (memfd_create), in slots of 64 MB of its address space, of which only the pages that
// were written take memory. That memory is the process's shared memory (Shmem), not part of its heap.
//
// Pages that are still in a socket's queue stay what they were when the bytes are freed: the pages are taken out of the
// file, and whatever gets their slot next is written into new ones.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "runtime/disk/file_source.h"

namespace runtime::disk {

class PagedBytes {
  public:
    // Whether the system allows such a file. Where not, nothing may be appended; that is warned of once.
    static bool available();
    PagedBytes();
    ~PagedBytes();
    PagedBytes(const PagedBytes&) = delete;

    // Copies. Best in multiples of a page. kSystem: there is no memory.
    base::Result<void> append(std::span<const uint8_t> bytes);
    uint64_t size() const { return size_; }

    struct Part {
        uint64_t offset = 0;  // in source()
        uint64_t length = 0;
    };
    // Where the bytes from `first` on are, `length` of them at most; usually one part.
    std::vector<Part> parts(uint64_t first, uint64_t length) const;
    // Of all PagedBytes. The file is there while one of them is; who sends from it holds it longer.
    static const std::shared_ptr<FileSource>& source();

  private:
    static constexpr uint64_t kSlotBytes = 64 * 1024 * 1024;

    std::vector<uint64_t> slots_;  // their numbers
    uint64_t size_ = 0;
};

}  // namespace runtime::disk

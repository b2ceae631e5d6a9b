#pragma once
// ResourceBytes: bytes in memory while they are written. Resources have ranges of them, and hold them.

#include <memory>
#include <span>

#include "base/result.h"
#include "base/slice.h"
#include "runtime/disk/paged_bytes.h"

namespace net {

class ResourceBytes {
  public:
    // kSystem: there is no memory.
    base::Result<void> append(std::span<const uint8_t> bytes);
    uint64_t size() const { return size_; }
    size_t memory() const { return size_ - block_.size() + block_.capacity(); }  // bytes
    // What resources have stays there.
    void clear();
    // From now on they have all that was appended so far; null: that is nothing. kSystem: there is no memory.
    base::Result<std::shared_ptr<runtime::disk::PagedBytes>> pages();

  private:
    base::Result<void> flush();

    static constexpr size_t kBlockBytes = 32 * 1024;

    std::shared_ptr<runtime::disk::PagedBytes> pages_;
    base::SliceBuilder block_;  // not in pages_ yet
    uint64_t size_ = 0;
};

}  // namespace net

#pragma once
// SegmentBytes: the bytes of a segment in memory while it is written: where sendfile() can take them, or on the heap
// where the system has no such memory. Resources have ranges of them, and hold them.

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/slice.h"
#include "runtime/disk/paged_bytes.h"
#include "service/hls/serving/index.h"

namespace service::hls {

class SegmentBytes {
  public:
    // kSystem: there is no memory.
    base::Result<void> append(std::span<const uint8_t> bytes);
    uint64_t size() const { return size_; }
    size_t memory() const;  // bytes
    // What resources have stays there.
    void clear();
    // What was appended so far can be shown from now on. kSystem: there is no memory.
    base::Result<void> flush() { return put_block(); }
    // As the resource's bytes: these ranges, which were flushed.
    void show(std::vector<PageRange> ranges, Resource& resource) const;

  private:
    static constexpr size_t kBlockBytes = 32 * 1024;
    base::Result<void> put_block();

    std::shared_ptr<runtime::disk::PagedBytes> pages_;
    std::vector<base::Slice> blocks_;  // where there are no pages
    base::SliceBuilder block_;
    uint64_t size_ = 0;
};

}  // namespace service::hls

#pragma once
// SegmentBytes: the bytes of a segment in memory while it is written. Resources have ranges of them, and hold them.

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
    size_t memory() const { return size_ - block_.size() + block_.capacity(); }  // bytes
    // What resources have stays there.
    void clear();
    // What was appended so far can be shown from now on. kSystem: there is no memory.
    base::Result<void> flush();
    // As the resource's bytes: these ranges, which were flushed.
    void show(std::vector<PageRange> ranges, Resource& resource) const;

  private:
    static constexpr size_t kBlockBytes = 32 * 1024;

    std::shared_ptr<runtime::disk::PagedBytes> pages_;
    base::SliceBuilder block_;  // not in pages_ yet
    uint64_t size_ = 0;
};

}  // namespace service::hls

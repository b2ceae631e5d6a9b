#include "service/hls/segments/segment_bytes.h"

#include <algorithm>
#include <utility>

namespace service::hls {

base::Result<void> SegmentBytes::append(std::span<const uint8_t> bytes) {
    size_ += bytes.size();
    while (!bytes.empty()) {
        if (block_.capacity() == 0) block_.reserve(kBlockBytes);
        const size_t n = std::min(bytes.size(), kBlockBytes - block_.size());
        block_.append(bytes.first(n));
        bytes = bytes.subspan(n);
        if (block_.size() == kBlockBytes) TRY(put_block());
    }
    return {};
}

// The block is full, or the last one of a part or of the segment.
base::Result<void> SegmentBytes::put_block() {
    if (block_.size() == 0) return {};
    if (!pages_ && runtime::disk::PagedBytes::available()) pages_ = std::make_shared<runtime::disk::PagedBytes>();
    if (pages_)
        TRY(pages_->append(block_.bytes()));
    else
        blocks_.push_back(base::Slice::copy(block_.bytes()));
    block_.clear();
    return {};
}

void SegmentBytes::show(std::vector<PageRange> ranges, Resource& resource) const {
    for (const PageRange& range : ranges) resource.size += range.length;
    if (pages_) {
        resource.pages = pages_;
        resource.ranges = std::move(ranges);
        return;
    }
    for (PageRange range : ranges) {
        for (const base::Slice& block : blocks_) {
            const uint64_t skipped = std::min<uint64_t>(range.offset, block.size());
            const uint64_t n = std::min<uint64_t>(range.length, block.size() - skipped);
            if (n > 0) resource.blocks.push_back(block.sub(skipped, n));
            range.offset -= skipped;
            range.length -= n;
        }
    }
}

void SegmentBytes::clear() {
    pages_.reset();
    blocks_.clear();
    block_.clear();
    size_ = 0;
}

size_t SegmentBytes::memory() const { return size_ - block_.size() + block_.capacity(); }

}  // namespace service::hls

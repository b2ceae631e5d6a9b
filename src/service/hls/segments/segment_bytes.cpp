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

void SegmentBytes::show(uint64_t first, Resource& resource) const {
    resource.size = size_ - first;
    if (pages_) {
        resource.pages = pages_;
        resource.ranges = {{first, resource.size}};
        return;
    }
    for (const base::Slice& block : blocks_) {
        if (first < block.size()) resource.blocks.push_back(block.sub(first, block.size() - first));
        first -= std::min<uint64_t>(first, block.size());
    }
}

base::Result<void> SegmentBytes::finish(Resource& resource) {
    TRY(put_block());
    resource.pages = std::exchange(pages_, nullptr);
    resource.blocks = std::exchange(blocks_, {});
    resource.size = std::exchange(size_, 0);
    return {};
}

void SegmentBytes::clear() {
    pages_.reset();
    blocks_.clear();
    block_.clear();
    size_ = 0;
}

size_t SegmentBytes::memory() const { return size_ - block_.size() + block_.capacity(); }

}  // namespace service::hls

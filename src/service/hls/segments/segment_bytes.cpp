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

// The block is full, or the segment's last one.
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

size_t SegmentBytes::memory() const {
    return (pages_ ? pages_->size() : blocks_.size() * kBlockBytes) + block_.capacity();
}

}  // namespace service::hls

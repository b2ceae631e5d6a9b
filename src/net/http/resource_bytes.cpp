#include "net/http/resource_bytes.h"

#include <algorithm>
#include <utility>

namespace net {

base::Result<void> ResourceBytes::append(std::span<const uint8_t> bytes) {
    size_ += bytes.size();
    while (!bytes.empty()) {
        if (block_.capacity() == 0) block_.reserve(kBlockBytes);
        const size_t n = std::min(bytes.size(), kBlockBytes - block_.size());
        block_.append(bytes.first(n));
        bytes = bytes.subspan(n);
        if (block_.size() == kBlockBytes) TRY(flush());
    }
    return {};
}

base::Result<void> ResourceBytes::flush() {
    if (block_.size() == 0) return {};
    if (!pages_) pages_ = std::make_shared<runtime::disk::PagedBytes>();
    TRY(pages_->append(block_.bytes()));
    block_.clear();
    return {};
}

base::Result<std::shared_ptr<runtime::disk::PagedBytes>> ResourceBytes::pages() {
    TRY(flush());
    return pages_;
}

void ResourceBytes::clear() {
    pages_.reset();
    block_.clear();
    size_ = 0;
}

}  // namespace net

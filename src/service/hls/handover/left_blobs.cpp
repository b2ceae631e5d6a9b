#include "service/hls/handover/left_blobs.h"

#include <algorithm>

#include "service/hls/handover/stream_state.h"

namespace service::hls {

std::optional<uint32_t> LeftBlobs::add(const std::shared_ptr<runtime::disk::PagedBytes>& pages) {
    if (const auto known = indexes_.find(pages.get()); known != indexes_.end()) return known->second;
    is_full_ |= all_.size() >= StreamState::kMaxBlobs || pages->size() > limit_ - std::min(limit_, bytes_);
    if (is_full_) return std::nullopt;
    bytes_ += pages->size();
    const auto index = static_cast<uint32_t>(all_.size());
    all_.push_back(pages);
    indexes_[pages.get()] = index;
    return index;
}

}  // namespace service::hls

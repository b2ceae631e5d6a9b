#include "service/hls/handover/left_blobs.h"

#include <algorithm>

#include "service/hls/handover/stream_state.h"

namespace service::hls {

std::optional<uint32_t> LeftBlobs::add(const std::shared_ptr<runtime::disk::PagedBytes>& pages) {
    if (const auto known = std::ranges::find(all_, pages); known != all_.end())
        return static_cast<uint32_t>(known - all_.begin());
    if (all_.size() >= StreamState::kMaxBlobs || pages->size() > limit_ - std::min(limit_, bytes_)) {
        ++dropped_;
        return std::nullopt;
    }
    bytes_ += pages->size();
    all_.push_back(pages);
    return static_cast<uint32_t>(all_.size() - 1);
}

}  // namespace service::hls

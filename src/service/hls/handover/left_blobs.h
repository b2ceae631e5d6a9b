#pragma once
// LeftBlobs: the bytes in memory that go over to another process of the server, of one stream. A segment's bytes are
// kept once for all its renditions and parts, and so they are here.

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/disk/paged_bytes.h"

namespace service::hls {

class LeftBlobs {
  public:
    // Of all streams: for a while both processes have it.
    static constexpr uint64_t kMaxBytes = uint64_t{512} << 20;
    explicit LeftBlobs(uint64_t limit) : limit_(limit) {}

    // Its index. Nothing: there is no room, for none that is added later either: they come from the newest to the
    // oldest, and a playlist has no holes.
    std::optional<uint32_t> add(const std::shared_ptr<runtime::disk::PagedBytes>& pages);
    const std::vector<std::shared_ptr<runtime::disk::PagedBytes>>& all() const { return all_; }
    uint64_t bytes() const { return bytes_; }

  private:
    const uint64_t limit_;
    uint64_t bytes_ = 0;
    bool is_full_ = false;
    std::vector<std::shared_ptr<runtime::disk::PagedBytes>> all_;
    std::unordered_map<const runtime::disk::PagedBytes*, uint32_t> indexes_;
};

}  // namespace service::hls

#pragma once
// Parts: those of a rendition's segments that HTTP can fetch, and the one that its playlist hints, for which requests
// wait. Nothing is done for a part that nobody asks for, but that its ranges are kept: it gets its pages, its name and
// its header fields with the first request (doc/decisions/187).

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "runtime/disk/paged_bytes.h"
#include "service/hls/serving/index.h"

namespace service::hls {

// Of paths with a part's number between them.
struct PartPaths {
    std::string vhost{};
    std::string before{}, after{};  // "live/s~p", ".ts"
};

// What has the bytes of the open segment.
class PartBytes {
  public:
    // All that the open segment has so far can be read from them. Null: that is lost, and was reported as such.
    virtual std::shared_ptr<runtime::disk::PagedBytes> open_pages() = 0;

  protected:
    ~PartBytes() = default;
};

class Parts final : private Index::Numbered {
  public:
    // What it refers to must outlive it.
    Parts(PartBytes& bytes, Index& index, PartPaths paths);
    ~Parts();
    Parts(const Parts&) = delete;

    // The part of that number, above those before, has ended; it has no pages yet. Requests that wait for it get it.
    void add(uint64_t number, Resource part);
    // The open segment is complete: its parts are in these pages. Null: those that nobody has asked for are lost.
    void close(const std::shared_ptr<runtime::disk::PagedBytes>& pages);
    void drop_before(uint64_t number);
    // So many from that one on.
    void drop(uint64_t first, size_t count);
    // Requests for the part wait for it, limit_ms at most. Those for another one, which will not come, get 404.
    // Nothing: none is hinted.
    void hint(std::optional<uint64_t> number, const std::shared_ptr<const live::StreamKey>& stream, int64_t limit_ms);

  private:
    struct Kept {
        uint64_t number;
        Resource part;
        ResourcePtr shown{};  // null: nobody has asked for it
    };
    ResourcePtr find(uint64_t number) override;
    Index::Announced* announced(uint64_t number) override { return number == hinted_ ? &waiting_ : nullptr; }
    std::deque<Kept>::iterator at_least(uint64_t number);

    PartBytes& bytes_;
    Index& index_;
    const PartPaths paths_;
    std::deque<Kept> kept_;           // by number
    std::optional<uint64_t> hinted_;  // nothing: none is
    Index::Announced waiting_;        // for that one
};

}  // namespace service::hls

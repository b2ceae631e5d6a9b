#pragma once
// NumberedResources: resources whose paths differ in a number, as the parts of a stream's segments, and the next one,
// or several, for which requests wait. Nothing is done for one that nobody asks for, but that its ranges are kept: it
// gets its pages, its name and its header fields with the first request (doc/decisions/187).

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "net/http/resources.h"
#include "runtime/disk/paged_bytes.h"

namespace net {

// Of paths with a number between them.
struct NumberedPaths {
    std::string vhost{};
    std::string before{}, after{};  // "live/s~p", ".ts"
};

// What has the bytes that are still being written.
class OpenBytes {
  public:
    // All that there is so far can be read from them. Null: that is lost, and was reported as such.
    virtual std::shared_ptr<runtime::disk::PagedBytes> open_pages() = 0;

  protected:
    ~OpenBytes() = default;
};

class NumberedResources {
  public:
    // What it refers to must outlive it.
    NumberedResources(OpenBytes& bytes, Resources& resources, NumberedPaths paths);
    ~NumberedResources();
    NumberedResources(const NumberedResources&) = delete;

    // The one of that number, above those before, is complete; it has no pages yet. Requests that wait for it get it.
    void add(uint64_t number, Resource resource);
    // The bytes are complete: those that were added since the last call are in these pages. Null: of these, those that
    // nobody has asked for are lost.
    void close(const std::shared_ptr<runtime::disk::PagedBytes>& pages);
    void drop_before(uint64_t number);
    // So many from that one on.
    void drop(uint64_t first, size_t count);
    // Requests for it wait, limit_ms at most. Those for another one, which will not come, get 404. Nothing: none is
    // announced.
    void announce(std::optional<uint64_t> number, const std::shared_ptr<const base::StreamKey>& stream,
                  int64_t limit_ms);

    // So many behind the one that is announced can be waited for, too: another process of the server has announced
    // them.
    void set_ahead(uint64_t count) { ahead_ = count; }
    // Somebody waits for one.
    bool is_awaited() const;

    // Null: there is none.
    ResourcePtr find(uint64_t number);
    // Null: it is not announced.
    std::shared_ptr<Announced> announced(uint64_t number);

  private:
    struct Kept {
        uint64_t number;
        Resource resource;
        ResourcePtr shown{};  // null: nobody has asked for it
    };
    std::deque<Kept>::iterator at_least(uint64_t number);
    bool can_await(uint64_t number) const;

    OpenBytes& bytes_;
    Resources& resources_;
    const NumberedPaths paths_;
    std::deque<Kept> kept_;         // by number
    std::optional<uint64_t> next_;  // that is announced
    std::shared_ptr<const base::StreamKey> stream_{};
    int64_t limit_ms_ = 0;
    uint64_t ahead_ = 0;
    std::map<uint64_t, std::shared_ptr<Announced>> waiting_{};  // by number; those that somebody has asked for
};

}  // namespace net

#pragma once
// Resources: what HTTP can fetch, by vhost and path, while a service makes and removes it. A resource is in memory,
// where sendfile() can take it, or names a file. One that will be there soon can be announced: requests for it wait.
// serve_resource.h answers requests.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/stream_key.h"
#include "net/http/deferred.h"
#include "runtime/disk/paged_bytes.h"
#include "runtime/loop/sync.h"

namespace net {

// A range of PagedBytes.
struct PageRange {
    uint64_t offset = 0;
    uint64_t length = 0;
};
// Behind the others, as one with the last if it begins where that ends.
void append_range(std::vector<PageRange>& ranges, const PageRange& range);

struct Resource {
    std::shared_ptr<runtime::disk::PagedBytes> pages{};  // in memory; null: in a file
    std::vector<PageRange> ranges{};                     // of pages, in their order; empty: all of them
    uint64_t size = 0;                                   // of ranges or pages
    bool is_final = false;                               // its pages do not grow any more
    std::string root{};                                  // the directory that contains the path; empty: in memory
    int64_t made_ms = 0;                                 // creation time, wall clock
    int64_t max_age_s = 0;                               // how long a cache may keep it, s
    std::shared_ptr<const base::StreamKey> stream{};     // the stream it belongs to
    uint64_t number = 0;                                 // unique number of this resource
    std::string etag{}, last_modified{};                 // header fields, written by Resources::name()

    // Keeps them in memory as all of it. Without memory nothing is kept.
    void keep(std::span<const uint8_t> bytes);
    // The header field. is_private: only caches of one viewer may keep it.
    std::string cache_control(bool is_private) const;
    // Where its bytes in pages are, from `first` on, `length` of them.
    std::vector<runtime::disk::PagedBytes::Part> parts(uint64_t first, uint64_t length) const;
};
using ResourcePtr = std::shared_ptr<const Resource>;

// A resource that will be there: requests for it wait.
struct Announced {
    std::shared_ptr<const base::StreamKey> stream{};  // that it belongs to
    int64_t limit_ms = 0;                             // a request waits no longer for what comes next
    // Clients get its bytes as they are made: each waits in its coroutine. Otherwise they wait without one, and get it
    // as a whole.
    bool grows = false;

    // Those who wait get it as a whole, or more of it. path: that it has, or its end. Never yield.
    void come(const ResourcePtr& resource, std::string_view path, DeferredWaker& waker);
    void grow(Resource more);
    // It does not come: they get 404, or what was begun breaks off.
    void withdraw(DeferredWaker& waker);
    // A client waits for it, or gets it as it grows.
    bool is_awaited() const { return !waiting.empty() || clients > 0; }

    DeferredList waiting{};   // unless it grows
    bool is_private = false;  // only caches of one viewer may keep it: of those who wait
    Resource so_far{};        // of one that grows
    size_t clients = 0;       // that get it as it grows
    ResourcePtr whole{};      // it has come
    bool is_over = false;     // it has come, or does not
    runtime::Event changed{"bytes of a resource"};
};

class NumberedResources;

// Copies share one table: what writes files on a slow disk may last longer than its service.
class Resources {
  public:
    void put(const std::string& vhost, const std::string& path, Resource resource);
    void erase(const std::string& vhost, const std::string& path) { table_->entries.erase(key(vhost, path)); }
    // The resource as it is found, with its number and header fields.
    ResourcePtr name(Resource resource);
    // Null: there is none.
    ResourcePtr find(std::string_view vhost, std::string_view path) const;
    size_t size() const { return table_->entries.size(); }
    // All but what is announced.
    void clear() { table_->entries.clear(); }

    // The resource will be put there, and grows until then.
    void announce(const std::string& vhost, const std::string& path, std::shared_ptr<const base::StreamKey> stream,
                  int64_t limit_ms);
    void grow(const std::string& vhost, const std::string& path, Resource so_far);
    void withdraw(const std::string& vhost, const std::string& path);
    bool is_awaited(std::string_view vhost, std::string_view path) const;
    // Null: it is not announced.
    std::shared_ptr<Announced> announced(std::string_view vhost, std::string_view path) const;

    // Those whose path is "BEFORE" NUMBER "AFTER", of which the latter is an extension. They must be removed before
    // they are destroyed.
    void add(const std::string& vhost, const std::string& before, const std::string& after,
             NumberedResources& numbered) {
        table_->numbered[key(vhost, before, after)] = &numbered;
    }
    void remove(const std::string& vhost, const std::string& before, const std::string& after) {
        table_->numbered.erase(key(vhost, before, after));
    }
    // Answers requests that waited for what is here now. To be stopped before what they use is destroyed.
    DeferredWaker& waker() const { return table_->waker; }

  private:
    // Until the next call: each request asks for it several times.
    static const std::string& key(std::string_view vhost, std::string_view path, std::string_view after = {}) {
        static std::string text;
        return text.assign(vhost).append("\n").append(path).append(after);
    }
    struct Found {
        NumberedResources* among = nullptr;
        uint64_t number = 0;
    };
    Found find_numbered(std::string_view vhost, std::string_view path) const;
    struct Table {
        std::map<std::string, ResourcePtr, std::less<>> entries{};
        std::map<std::string, std::shared_ptr<Announced>, std::less<>> announced{};
        std::map<std::string, NumberedResources*, std::less<>> numbered{};
        uint64_t count = 0;
        DeferredWaker waker{};
    };
    // Null: it is not announced. It is not any more.
    std::shared_ptr<Announced> take_announced(const std::string& key);

    std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace net

#pragma once
// Index: the HLS resources that HTTP can fetch besides playlists: segments, initialisation segments and keys, by vhost
// and path. A resource is in memory, where sendfile() can take it, or names a file. Parts of a segment are ranges of
// its bytes.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "live/hub/stream.h"
#include "net/http/deferred.h"
#include "runtime/disk/paged_bytes.h"

namespace service::hls {

// Of PagedBytes.
struct PageRange {
    uint64_t offset = 0;
    uint64_t length = 0;
};

struct Resource {
    std::shared_ptr<runtime::disk::PagedBytes> pages{};  // in memory; null: in a file
    std::vector<PageRange> ranges{};                     // of pages, in their order; empty: all of them
    uint64_t size = 0;                                   // of ranges or pages
    bool is_final = false;                               // its pages do not grow any more
    std::string root{};                                  // the directory that contains the path; empty: in memory
    int64_t made_ms = 0;                                 // creation time, wall clock
    int64_t max_age_s = 0;                               // how long a cache may keep it, s
    std::shared_ptr<const live::StreamKey> stream{};     // the stream it belongs to
    uint64_t number = 0;                                 // unique number of this resource
    std::string etag{}, last_modified{};                 // header fields, written by Index::put()

    // Keeps them in memory as all of it. Without memory nothing is kept.
    void keep(std::span<const uint8_t> bytes);
    // The header field. is_private: only caches of one viewer may keep it.
    std::string cache_control(bool is_private) const;
    // Where its bytes in pages are, from `first` on, `length` of them.
    std::vector<runtime::disk::PagedBytes::Part> parts(uint64_t first, uint64_t length) const;
};
using ResourcePtr = std::shared_ptr<const Resource>;

// Copies share one table: a segment store on a slow disk may still write after its service is destroyed.
class Index {
  public:
    void put(const std::string& vhost, const std::string& path, Resource resource);
    void erase(const std::string& vhost, const std::string& path) { table_->entries.erase(key(vhost, path)); }
    // The resource will be put there: requests for it wait, until that or until it is withdrawn, which answers them
    // with 404. stream: that it belongs to.
    void announce(const std::string& vhost, const std::string& path, std::shared_ptr<const live::StreamKey> stream,
                  int64_t limit_ms);
    void withdraw(const std::string& vhost, const std::string& path);
    struct Announced {
        std::shared_ptr<const live::StreamKey> stream{};
        int64_t limit_ms = 0;     // a request waits no longer
        bool is_private = false;  // only caches of one viewer may keep it
        net::DeferredList waiting{};
    };
    // Null: it is not announced. Until the next yield.
    Announced* announced(std::string_view vhost, std::string_view path) const {
        auto it = table_->announced.find(key(vhost, path));
        return it == table_->announced.end() ? nullptr : &it->second;
    }
    ResourcePtr find(std::string_view vhost, std::string_view path) const {
        auto it = table_->entries.find(key(vhost, path));
        return it == table_->entries.end() ? nullptr : it->second;
    }
    size_t size() const { return table_->entries.size(); }
    // Answers requests that waited for what is here now. To be stopped before what they use is destroyed.
    net::DeferredWaker& waker() const { return table_->waker; }

  private:
    // Until the next call: each request asks for it several times.
    static const std::string& key(std::string_view vhost, std::string_view path) {
        static std::string text;
        return text.assign(vhost).append("\n").append(path);
    }
    struct Table {
        std::map<std::string, ResourcePtr, std::less<>> entries{};
        std::map<std::string, Announced, std::less<>> announced{};
        uint64_t count = 0;
        net::DeferredWaker waker{};
    };
    std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace service::hls

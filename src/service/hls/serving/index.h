#pragma once
// Index: the HLS resources that HTTP can fetch besides playlists: segments, initialisation segments and keys, by vhost
// and path, and parts of segments by their numbers. A resource is in memory, where sendfile() can take it, or names a
// file. Parts of a segment are ranges of its bytes.

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
    std::string etag{}, last_modified{};                 // header fields, written by Index::name()

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
    // The resource as it is found, with its number and header fields.
    ResourcePtr name(Resource resource);

    // What will be there: requests for it wait.
    struct Announced {
        std::shared_ptr<const live::StreamKey> stream{};
        int64_t limit_ms = 0;     // a request waits no longer
        bool is_private = false;  // only caches of one viewer may keep it
        net::DeferredList waiting{};
    };
    // Resources whose paths differ in a number.
    class Numbered {
      public:
        // Null: there is none.
        virtual ResourcePtr find(uint64_t number) = 0;
        // Null: it is not announced. Until the next yield.
        virtual Announced* announced(uint64_t number) = 0;

      protected:
        ~Numbered() = default;
    };
    // Those whose path is "BEFORE" NUMBER "AFTER", of which the latter is an extension. They must be removed before
    // they are destroyed.
    void add(const std::string& vhost, const std::string& before, const std::string& after, Numbered& numbered) {
        table_->numbered[key(vhost, before, after)] = &numbered;
    }
    void remove(const std::string& vhost, const std::string& before, const std::string& after) {
        table_->numbered.erase(key(vhost, before, after));
    }

    // Null: there is none.
    ResourcePtr find(std::string_view vhost, std::string_view path) const;
    // Null: it is not announced. Until the next yield.
    Announced* announced(std::string_view vhost, std::string_view path) const;
    size_t size() const { return table_->entries.size(); }
    // Answers requests that waited for what is here now. To be stopped before what they use is destroyed.
    net::DeferredWaker& waker() const { return table_->waker; }

  private:
    // Until the next call: each request asks for it several times.
    static const std::string& key(std::string_view vhost, std::string_view path, std::string_view after = {}) {
        static std::string text;
        return text.assign(vhost).append("\n").append(path).append(after);
    }
    struct Found {
        Numbered* numbered = nullptr;
        uint64_t number = 0;
    };
    Found find_numbered(std::string_view vhost, std::string_view path) const;
    struct Table {
        std::map<std::string, ResourcePtr, std::less<>> entries{};
        std::map<std::string, Numbered*, std::less<>> numbered{};
        uint64_t count = 0;
        net::DeferredWaker waker{};
    };
    std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace service::hls

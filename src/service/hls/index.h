#pragma once
// Index: what HTTP can fetch of HLS beside playlists: segments, initialisation segments and keys, by vhost and path.
// They are in memory, or a file is named that is.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/slice.h"
#include "live/hub/stream.h"

namespace service::hls {

struct Resource {
    std::vector<base::Slice> blocks{};                // in memory
    uint64_t size = 0;                                // of them
    std::string root{};                               // the directory that the path is below; empty: it is in memory
    int64_t made_ms = 0;                              // wall clock
    int64_t max_age_s = 0;                            // how long a cache may keep it
    std::shared_ptr<const live::StreamKey> stream{};  // whose it is
    uint64_t number = 0;                              // of this resource, different from all others'
};
using ResourcePtr = std::shared_ptr<const Resource>;

// Copies are of the same: a shelf whose disk is slow may still write when its service is gone.
class Index {
  public:
    void put(const std::string& vhost, const std::string& path, Resource resource) {
        resource.number = ++table_->count;
        table_->entries[key(vhost, path)] = std::make_shared<const Resource>(std::move(resource));
    }
    void erase(const std::string& vhost, const std::string& path) { table_->entries.erase(key(vhost, path)); }
    ResourcePtr find(std::string_view vhost, std::string_view path) const {
        auto it = table_->entries.find(key(vhost, path));
        return it == table_->entries.end() ? nullptr : it->second;
    }
    size_t size() const { return table_->entries.size(); }

  private:
    static std::string key(std::string_view vhost, std::string_view path) {
        return std::string(vhost).append("\n").append(path);
    }
    struct Table {
        std::map<std::string, ResourcePtr, std::less<>> entries{};
        uint64_t count = 0;
    };
    std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace service::hls

#pragma once
// Recent: values by stream, of which the least recently used is dropped when there are too many, or when they take too
// much memory. What fills it are names that clients choose. Never yields.

#include <cstddef>
#include <list>
#include <map>
#include <utility>

#include "base/stream_key.h"

namespace service::cluster {

template <class Value>
class Recent {
  public:
    Recent(size_t max_count, size_t max_bytes) : max_count_(max_count), max_bytes_(max_bytes) {}

    // Null: it is not there. Valid until the next call that is not const.
    Value* find(const base::StreamKey& stream) {
        const auto found = index_.find(stream);
        if (found == index_.end()) return nullptr;
        entries_.splice(entries_.begin(), entries_, found->second);
        return &found->second->value;
    }
    // bytes: of the value, beside the name.
    void put(const base::StreamKey& stream, Value value, size_t bytes) {
        erase(stream);
        bytes += 2 * (stream.vhost.size() + stream.app.size() + stream.name.size()) + sizeof(Entry);
        entries_.push_front({stream, std::move(value), bytes});
        index_.emplace(stream, entries_.begin());
        bytes_ += bytes;
        while (entries_.size() > max_count_ || bytes_ > max_bytes_) erase(base::StreamKey(entries_.back().stream));
    }
    void erase(const base::StreamKey& stream) {
        const auto found = index_.find(stream);
        if (found == index_.end()) return;
        bytes_ -= found->second->bytes;
        entries_.erase(found->second);
        index_.erase(found);
    }
    void clear() {
        entries_.clear();
        index_.clear();
        bytes_ = 0;
    }
    size_t size() const { return entries_.size(); }
    size_t bytes() const { return bytes_; }

  private:
    struct Entry {
        base::StreamKey stream;
        Value value;
        size_t bytes;
    };
    const size_t max_count_, max_bytes_;
    size_t bytes_ = 0;
    std::list<Entry> entries_;  // the most recently used first
    std::map<base::StreamKey, typename std::list<Entry>::iterator> index_;
};

}  // namespace service::cluster

#pragma once
// Publishers: who publishes which stream, and who did last: for on_dvr and on_hls, which come after the fact. Bounded.

#include <cstdint>
#include <list>
#include <map>

#include "live/stream.h"
#include "net/gate.h"

namespace service::hook {

class Publishers {
  public:
    static constexpr size_t kMostLeft = 1'000;  // of those that have left

    void came(const net::Visitor& visitor) { entries_[key_of(visitor)].push_back({visitor, false}); }
    void left(const net::Visitor& visitor);
    // The one that publishes it, else the last that did; else one of which only the stream is known.
    net::Visitor find(const live::StreamKey& key) const;

  private:
    struct Entry {
        net::Visitor visitor;
        bool gone;
    };
    static live::StreamKey key_of(const net::Visitor& visitor) { return {visitor.vhost, visitor.app, visitor.stream}; }
    std::map<live::StreamKey, std::list<Entry>> entries_;  // at most one that is gone, and that alone
    std::list<live::StreamKey> left_;                      // streams whose publisher is gone, the oldest first
};

}  // namespace service::hook

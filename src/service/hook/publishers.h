#pragma once
// Publishers: who publishes which stream, and who did: for on_dvr and on_hls, which come after the fact, when another
// may publish it already. Bounded.

#include <list>
#include <map>
#include <string_view>

#include "live/hub/stream.h"
#include "net/access/gate.h"

namespace service::hook {

class Publishers {
  public:
    static constexpr size_t kMaxLeft = 1'000;  // of those that have left

    void came(const net::Visitor& visitor) { entries_[key_of(visitor)].push_back({visitor, false}); }
    void left(const net::Visitor& visitor);
    // The one that publishes it, else the last that did; else one of which only the stream is known.
    net::Visitor find(const live::StreamKey& key) const;
    // The one with that id, and nobody else; an empty id: as above.
    net::Visitor find(const live::StreamKey& key, std::string_view id) const;
    static net::Visitor unknown(const live::StreamKey& key);

  private:
    struct Entry {
        net::Visitor visitor;
        bool gone;
    };
    // Those that are gone stand before the others, in the order of their leaving.
    using Entries = std::map<live::StreamKey, std::list<Entry>>;
    static live::StreamKey key_of(const net::Visitor& visitor) { return {visitor.vhost, visitor.app, visitor.stream}; }
    Entries entries_;
    std::list<Entries::iterator> left_;  // an entry that is gone each, of all streams; the oldest first
};

}  // namespace service::hook

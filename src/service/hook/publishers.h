#pragma once
// Publishers: the current and previous publishers of each stream, for on_dvr and on_hls, which come later, when another
// client may already be publishing. Bounded.

#include <list>
#include <map>
#include <string_view>

#include "live/hub/stream.h"
#include "net/access/gate.h"

namespace service::hook {

class Publishers {
  public:
    static constexpr size_t kMaxLeft = 1'000;  // publishers that have left

    void came(const net::Visitor& visitor) { entries_[visitor.key()].push_back({visitor, false}); }
    void left(const net::Visitor& visitor);
    // The current publisher, otherwise the last one; otherwise a visitor of which only the stream is known.
    net::Visitor find(const live::StreamKey& key) const;
    // The publisher with that id and no other; an empty id: as above.
    net::Visitor find(const live::StreamKey& key, std::string_view id) const;
    static net::Visitor unknown(const live::StreamKey& key);

  private:
    struct Entry {
        net::Visitor visitor;
        bool ended;
    };
    // Those that have left come before the others, in the order in which they left.
    using Entries = std::map<live::StreamKey, std::list<Entry>>;
    Entries entries_;
    std::list<Entries::iterator> left_;  // each an entry that has left, of all streams; oldest first
};

}  // namespace service::hook

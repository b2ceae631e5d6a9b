#pragma once
// The changes of a reload: the directives whose values differ, and the snapshot to apply, in which values that need a
// restart keep their old value.

#include <string>
#include <vector>

#include "config/directive.h"
#include "config/snapshot.h"

namespace config {

struct Change {
    std::string vhost;   // empty outside vhosts
    const Row* row;      // null: the vhost itself was added or removed
    std::string before;  // without user and password of URLs, as for the log
    std::string after;

    bool live() const { return row == nullptr || row->apply == Apply::kLive; }
    std::string describe() const;  // "vhost a.com vhost/play/mw_latency: 350 -> 0"
};

struct Reload {
    SnapshotPtr snapshot;  // `next`, with the old values of directives that need a restart
    std::vector<Change> changes;
};

Reload plan_reload(const Snapshot& current, const Snapshot& next);

}  // namespace config

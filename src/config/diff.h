#pragma once
// What a reload changes: the directives whose values differ, and the snapshot to put in force, in which the values that
// need a restart stay as they are.

#include <string>
#include <vector>

#include "config/directive.h"
#include "config/snapshot.h"

namespace config {

struct Change {
    std::string vhost;  // empty outside vhosts
    const Row* row;     // null: the vhost itself came or went
    std::string before;
    std::string after;

    bool live() const { return row == nullptr || row->apply == Apply::kLive; }
    std::string describe() const;  // "vhost a.com vhost/play/mw_latency: 350 -> 0"
};

struct Reload {
    SnapshotPtr snapshot;  // `next`, with the old values where a restart is needed
    std::vector<Change> changes;
};

Reload plan_reload(const Snapshot& current, const Snapshot& next);

}  // namespace config

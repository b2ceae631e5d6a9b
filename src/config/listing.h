#pragma once
// Every directive with its current value and its origin, for the API and for -t.

#include <string>
#include <vector>

#include "config/directive.h"
#include "config/snapshot.h"

namespace config {

struct Listed {
    std::string vhost;  // empty outside vhosts
    const Row* row;
    std::string value;
    std::string origin;  // "conf/srs.conf:12", "SRS_LISTEN" or "default"
};

// Supported directives only, in the table's order; vhosts one after another.
std::vector<Listed> list_directives(const Snapshot& snapshot);
// The directives of one vhost; null: those outside of vhosts.
std::vector<Listed> list_directives(const Snapshot& snapshot, const Vhost* vhost);

}  // namespace config

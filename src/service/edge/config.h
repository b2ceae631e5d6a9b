#pragma once
// The configuration of an edge: vhost/cluster.

#include <string>
#include <vector>

#include "config/section.h"

namespace service::edge {

struct VhostConfig {
    std::string mode = "local";
    std::vector<std::string> origin{};  // after loading each is an Origin
    bool token_traverse = false;
    std::string vhost = "[vhost]";
    bool debug_srs_upnode = true;
    std::string protocol = "rtmp";
    bool follow_client = false;

    bool is_edge() const { return mode == "remote"; }
    bool operator==(const VhostConfig&) const = default;
};

config::Section section();

// The vhost of exactly that name; null: it is not there, not enabled, or no edge.
const config::Vhost* find_edge(const config::Snapshot& snapshot, std::string_view vhost);

}  // namespace service::edge

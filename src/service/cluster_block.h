#pragma once
// What the block cluster of a vhost says about other servers: directives of the service cluster, which the service edge
// needs to know, too. A service includes no other, so they are here.

#include <string>
#include <vector>

namespace service {

struct ClusterLookup {
    bool registry = false;
    bool exclusive = true;
    bool origin_cluster = false;
    std::vector<std::string> coworkers{};
    bool redirect = false;

    bool asks_coworkers() const { return origin_cluster && !coworkers.empty(); }
    // Whether it is known somewhere which server has a stream.
    bool locates() const { return registry || asks_coworkers(); }
    bool operator==(const ClusterLookup&) const = default;
};

}  // namespace service

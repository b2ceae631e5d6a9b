#pragma once
// The configuration of a cluster: the block redis, and directives of vhost/cluster (service/cluster_block.h).

#include <string>
#include <vector>

#include "config/section.h"
#include "service/cluster/record.h"
#include "service/cluster/redis_client.h"

namespace service::cluster {

struct ServerConfig : RedisOptions {
    std::string key_prefix = "srs";
    int lease = 10;  // s
    std::vector<std::string> advertise{};
    bool operator==(const ServerConfig&) const = default;
};

config::Section section();

// What this server says of itself: the addresses of `advertise`, for others those that it listens on, with ip where
// these have none. Without fence and time.
Record self_record(const config::Snapshot& snapshot, const std::string& ip);

}  // namespace service::cluster

#pragma once
// The configuration of a cluster: the block redis, and directives of vhost/cluster (service/cluster_block.h).

#include <string>
#include <vector>

#include "config/section.h"
#include "service/cluster/record.h"
#include "service/cluster/redis_client.h"

namespace service::cluster {

struct ServerConfig {
    bool enabled = false;
    std::string server = "127.0.0.1:6379";
    std::string user{};
    std::string password{};
    int db = 0;
    std::string key_prefix = "srs";
    int lease = 10;       // s
    int timeout = 1'000;  // ms
    std::vector<std::string> advertise{};
    bool operator==(const ServerConfig&) const = default;

    RedisOptions options() const { return {enabled, server, user, password, db, timeout}; }
};

config::Section section();

// What this server says of itself: the addresses of `advertise`, for others those that it listens on, with ip where
// these have none. Without fence and time.
Record self_record(const config::Snapshot& snapshot, const std::string& ip);

}  // namespace service::cluster

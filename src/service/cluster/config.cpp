#include "service/cluster/config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/row_builder.h"
#include "protocol/http/url.h"
#include "service/cluster_block.h"

namespace service::cluster {
namespace {

constexpr size_t kMaxCoworkers = 32;

void add_rows(std::vector<config::Row>& rows) {
    using namespace config;
    const Scope redis{"redis", kOfServer<ServerConfig>};
    using S = ServerConfig;
    rows.push_back(row(redis, "enabled", &S::enabled, none(), kLive,
                       "The servers of a cluster say by a Redis which of them has a stream; see doc/cluster.md."));
    rows.push_back(row(redis, "server", &S::server, none(), kLive, "Its address: HOST or HOST:PORT."));
    rows.push_back(row(redis, "user", &S::user, none(), kLive, "User name for AUTH; empty: the default user.", "srs"));
    rows.push_back(
        row(redis, "password", &S::password, none(), kLive, "Password for AUTH; empty: without it.", "secret"));
    rows.push_back(row(redis, "db", &S::db, count(0, 65'535), kLive, "Number of the database."));
    rows.push_back(
        row(redis, "key_prefix", &S::key_prefix, none(), kLive, "Beginning of the keys, the same for the cluster."));
    rows.push_back(row(redis, "lease", &S::lease, seconds(2, 3'600), kLive,
                       "A stream whose server does not renew it is free after this time, s."));
    rows.push_back(row(redis, "timeout", &S::timeout, milliseconds(50, 10'000), kLive,
                       "A Redis that does not answer in this time is taken for away, ms."));
    rows.push_back(row(redis, "advertise", &S::advertise, none(), kLive,
                       "Where others reach this server: URLs of rtmp or rtmps, and of http or https, without a path. "
                       "By default its own addresses.",
                       "rtmp://192.0.2.1:1935 http://192.0.2.1:8080"));
    const Scope cluster{"vhost/cluster", kOfVhost<ClusterLookup>};
    using L = ClusterLookup;
    rows.push_back(row(cluster, "registry", &L::registry, none(), kLive,
                       "Streams that are published here are registered in the Redis of the block redis, and those of "
                       "other servers are found there and pulled when a player asks for them."));
    rows.push_back(row(cluster, "exclusive", &L::exclusive, none(), kLive,
                       "A stream is published at one server of the registry at a time. off: encoders may publish it to "
                       "several; one of them is registered, and when its lease ends another one."));
    rows.push_back(row(cluster, "origin_cluster", &L::origin_cluster, none(), kLive,
                       "Players by RTMP of a stream that another origin has are sent there (302); players of other "
                       "protocols get it through this server."));
    rows.push_back(row(cluster, "coworkers", &L::coworkers, none(), kLive,
                       "The APIs of the other origins, which are asked where a stream is: HOST:PORT.",
                       "127.0.0.1:9091 127.0.0.1:9092"));
    rows.push_back(row(cluster, "redirect", &L::redirect, none(), kLive,
                       "Players by HTTP-FLV and HLS of a stream that another server has are sent there (302)."));
}

void check(config::Checks& checks) {
    const auto& redis = checks.snapshot().get<ServerConfig>();
    const bool is_blank = redis.server.find_first_not_of(' ') == std::string::npos;
    if (auto address = parse_redis_address(redis.server); !address && (redis.enabled || !is_blank))
        checks.error("redis/server", "server: " + address.error().text());
    for (const std::string& url : redis.advertise)
        if (!is_address(url, "rtmp", "rtmps") && !is_address(url, "http", "https"))
            checks.error("redis/advertise",
                         fmt::format("advertise: '{}' is no URL of rtmp, rtmps, http or https without a path", url));
    if (!redis.user.empty() && redis.password.empty())
        checks.warning("redis/user", "redis has a user, but no password: there is no AUTH");
}

void check_vhost(config::Checks& checks, config::Vhost& vhost) {
    const auto& lookup = vhost.get<ClusterLookup>();
    for (const std::string& coworker : lookup.coworkers)
        if (!is_address("http://" + coworker, "http", "http"))
            checks.error(vhost, "vhost/cluster/coworkers",
                         fmt::format("coworkers: '{}' is no address: write HOST:PORT", base::for_log(coworker)));
    if (lookup.coworkers.size() > kMaxCoworkers)
        checks.error(vhost, "vhost/cluster/coworkers", fmt::format("coworkers: more than {}", kMaxCoworkers));
    if (!vhost.enabled) return;
    if (lookup.registry && !checks.snapshot().get<ServerConfig>().enabled)
        checks.error(vhost, "vhost/cluster/registry",
                     "vhost " + vhost.name + " has a registry, but the block redis is not enabled");
}

// Empty: it does not listen.
std::string listening(std::string_view scheme, const config::ListenAddresses& addresses, const std::string& ip) {
    if (addresses.empty()) return {};
    const config::ListenAddress& first = addresses.front();
    const bool is_any = first.host.empty() || first.host == "0.0.0.0" || first.host == "::";
    return fmt::format("{}://{}", scheme, config::ListenAddress{is_any ? ip : first.host, first.port}.text());
}

}  // namespace

Record self_record(const config::Snapshot& snapshot, const std::string& ip) {
    Record self;
    for (const std::string& url : snapshot.get<ServerConfig>().advertise) {
        std::string& address = is_address(url, "rtmp", "rtmps") ? self.rtmp : self.http;
        if (address.empty()) address = url;
    }
    if (self.rtmp.empty()) self.rtmp = listening("rtmp", snapshot.rtmp.listen, ip);
    if (self.http.empty() && snapshot.http_server.enabled)
        self.http = listening("http", snapshot.http_server.listen, ip);
    if (snapshot.http_api.enabled) self.api = listening("http", snapshot.http_api.listen, ip);
    return self;
}

config::Section section() {
    return {.service = "cluster", .add_rows = add_rows, .check = check, .check_vhost = check_vhost};
}

}  // namespace service::cluster

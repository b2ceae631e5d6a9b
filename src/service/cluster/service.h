#pragma once
// Clusters: servers that say by a Redis, or by their APIs, which of them has a stream. Published streams are registered
// with a lease; the service edge asks where the streams are that it lacks. See doc/cluster.md.

#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/followed_streams.h"
#include "net/access/gate.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/log_limit.h"
#include "runtime/loop/sync.h"
#include "service/cluster/leases.h"
#include "service/cluster/locations.h"
#include "service/cluster/redis_client.h"
#include "service/cluster/redis_store.h"
#include "service/locator.h"
#include "service/shared_parts.h"

namespace service::cluster {

class Service final : public Locator, private net::Guard, private live::StreamFollower, private LeaseOwner {
  public:
    // The parts must outlive it.
    Service(const SharedParts& parts, const config::SnapshotPtr& snapshot);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting() {}
    bool idle() const { return true; }
    // The services of publishers have been stopped before: what they published is released. Yields.
    void stop();
    void reload(const config::SnapshotPtr& next);

    // Locator
    bool locates(const config::Vhost& vhost) const override;
    std::vector<std::string> locate(const base::StreamKey& stream, bool by_http) override;
    bool redirects(const config::Vhost& vhost, bool by_http) const override;
    std::string redirect(const base::StreamKey& stream, bool by_http) override;

    const RedisClient& client() const { return client_; }
    const Leases& leases() const { return leases_; }
    const Locations& locations() const { return locations_; }
    uint64_t redirected() const { return redirected_; }

  private:
    bool registers(const config::Vhost& vhost) const;
    std::optional<Record> find(const base::StreamKey& stream);
    base::Result<Record> ask_coworker(const std::string& coworker, const base::StreamKey& stream);
    void configure(const config::Snapshot& snapshot);
    void run();
    void finish();
    Leases::Times times() const;

    // Guard
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost& vhost) override;
    bool may_yield(net::Action action, const config::Vhost& vhost) const override;
    bool follows(net::Action action, const config::Vhost& vhost) const override { return may_yield(action, vhost); }
    void left(const net::Visitor& visitor, const net::Traffic&) override;
    // StreamFollower
    bool wants(const live::Stream& stream, const config::Vhost& vhost) const override;
    bool follow(live::Stream& stream, const config::Vhost& vhost) override;
    void leave(live::Stream& stream) override;
    // LeaseOwner
    void lease_lost(const base::StreamKey& stream, const Record& winner) override;
    bool is_exclusive(const base::StreamKey& stream) const override;
    bool is_gone(const Record& record) override;

    config::SnapshotPtr snapshot_;
    const Identity& identity_;
    live::Registry& registry_;
    net::Gate& gate_;
    net::HttpClient& http_client_;
    const Offers& offers_;
    RedisClient client_;
    RedisStore store_;
    Leases leases_;
    Locations locations_;
    live::FollowedStreams followed_;
    bool started_ = false;
    runtime::LogLimit refusal_log_{1, 60'000};  // Redis answers, but does not take what is asked
    uint64_t redirected_ = 0;
    runtime::Event wake_{"a lease to be renewed"};
    runtime::Task task_;
};

}  // namespace service::cluster

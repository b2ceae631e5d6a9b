#pragma once
// PullManager: the streams that edges pull. A guard of the gate learns which streams players ask for, by every
// protocol, and refuses what would be a loop: a request that this server has made itself.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "runtime/loop/task_list.h"
#include "service/edge/origin_health.h"
#include "service/edge/pull.h"
#include "service/identity.h"
#include "service/locator.h"
#include "service/shared_parts.h"

namespace service::edge {

class PullManager final : private PullOwner, private net::Guard, private live::StreamWatcher {
  public:
    // Of pulls that have no media yet, and of those the ones that clients of one address have begun (not those that
    // address_limits exempts). At the limit one of the address that has most of them ends: the oldest without a player,
    // otherwise the newest.
    static constexpr size_t kMaxWithoutMedia = 1000, kMaxOfAddress = 200;
    // An origin that had no stream of that name is not asked for it again within this time, whoever asks.
    static constexpr int64_t kAskAgainMs = 1'000;

    // The references must outlive it.
    PullManager(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate,
                OriginHealth& health, ClientTls& tls, const Identity& identity, const Offers& offers);
    ~PullManager();  // stops: yields
    PullManager(const PullManager&) = delete;

    void start();
    void stop();
    // PullManager of vhosts that are no edges any more end; others go on, or connect again where their origin is gone.
    void reload(const config::SnapshotPtr& next);

    // Whether the vhost's streams are pulled: it is an edge, or they are looked up.
    bool fetches(const config::Vhost& vhost) const;
    // For Offers::other_process_changed: players of this one may be waiting for it, or have what has ended there.
    void other_process_changed(const live::StreamKey& key);
    // For Offers::fetches. A stream that was looked up and is nowhere is refused, too.
    Fetching fetching(const live::StreamKey& key) const;
    // What its requests to origins call this server (params.h).
    const std::string& request_name() const override { return request_name_; }
    // Begins a pull for players who are there already: the publisher of this server left.
    void resume(const live::StreamKey& key);

    const std::map<live::StreamKey, Pull*>& list() const { return pulls_; }
    size_t refused() const { return refused_; }  // because of these limits
    size_t loops() const { return loops_; }

  private:
    const config::SnapshotPtr& snapshot() const override { return snapshot_; }
    net::SessionTable& sessions() override { return sessions_; }
    live::Registry& registry() override { return registry_; }
    OriginHealth& health() override { return health_; }
    ClientTls& tls() override { return tls_; }
    OtherProcess* other_process() override { return offers_.other_process; }
    bool is_in_other_process(const live::StreamKey& key) const {
        return offers_.other_process && offers_.other_process->publishes(key);
    }
    const Identity& identity() const override { return identity_; }
    const config::Vhost* fetching(const config::Snapshot& snapshot, std::string_view vhost) const override;
    std::vector<std::string> locate(const config::Vhost& vhost, const live::StreamKey& key, bool by_http) override;
    void source_ended(relay::SourceRunner& runner) override;
    // Players of a stream whose publisher left get it from where it is now. Edges: PushManager.
    void stream_published(live::Stream&) override {}
    void stream_unpublished(live::Stream& stream) override;
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost& vhost) override;
    base::Result<void> check(const net::Visitor& visitor, const config::Vhost& vhost) override;
    base::Result<void> fetch(const live::StreamKey& key, const net::Visitor& visitor, const config::Vhost& vhost);
    // ip: of the client that asks.
    Pull* begin(const live::StreamKey& key, const std::string& ip = {});
    bool is_kept(const live::StreamKey& key) const override;
    bool evict_one(const base::IpAddress& address);
    void end_for(Pull& pull, std::string_view why);
    void record_missing(const Pull& pull);

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    net::Gate& gate_;
    OriginHealth& health_;
    ClientTls& tls_;
    const Identity& identity_;
    const Offers& offers_;
    const std::string request_name_;
    std::map<live::StreamKey, Pull*> pulls_;
    runtime::TaskList<Pull> all_{"the last pull of an edge to end"};  // also those that end, beside others of the name
    std::map<live::StreamKey, int64_t> asked_;  // those that no origin had: when they may be asked for again
    bool started_ = false;
    size_t refused_ = 0, loops_ = 0;
};

}  // namespace service::edge

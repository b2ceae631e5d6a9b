#pragma once
// PushManager: what is published at edges by clients, or pulled there from cameras, is passed up to an origin: a Push
// for each such stream. Streams that come from an origin are not.

#include <memory>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/followed_streams.h"
#include "live/hub/registry.h"
#include "net/sessions/session.h"
#include "runtime/loop/task_list.h"
#include "service/edge/origin_health.h"
#include "service/edge/pull_manager.h"
#include "service/edge/push.h"

namespace service::edge {

class PushManager final : private live::StreamFollower, private PushOwner {
  public:
    // The references must outlive it.
    PushManager(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, PullManager& pulls,
                OriginHealth& health, ClientTls& tls);
    ~PushManager();  // stops: yields
    PushManager(const PushManager&) = delete;

    void start();
    bool empty() const { return pushes_.empty(); }
    // Published data is still sent if that does not take long. Yields.
    void stop();
    void reload(const config::SnapshotPtr& next);

    const runtime::TaskList<Push>& list() const { return pushes_; }

  private:
    bool wants(const live::Stream& stream, const config::Vhost& vhost) const override;
    bool follow(live::Stream& stream, const config::Vhost& vhost) override;
    void keep(live::Stream& stream, const config::Vhost& vhost) override;
    void leave(live::Stream& stream) override;

    const config::SnapshotPtr& snapshot() const override { return snapshot_; }
    net::SessionTable& sessions() override { return sessions_; }
    OriginHealth& health() override { return health_; }
    ClientTls& tls() override { return tls_; }
    void sink_ended(relay::SinkRunner& runner) override { (void)pushes_.take(static_cast<Push&>(runner)); }

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    PullManager& pulls_;
    OriginHealth& health_;
    ClientTls& tls_;
    live::FollowedStreams followed_;
    runtime::TaskList<Push> pushes_{"the last passed-up stream to end"};
    bool started_ = false;
};

}  // namespace service::edge

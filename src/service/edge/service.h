#pragma once
// Edges: vhosts that serve what their origins have (cluster { mode remote; }). See doc/edge.md.

#include <memory>

#include "config/snapshot.h"
#include "service/client_tls.h"
#include "service/edge/origin_health.h"
#include "service/edge/pull_manager.h"
#include "service/edge/push_manager.h"
#include "service/edge/token_guard.h"
#include "service/shared_parts.h"

namespace service::edge {

class Service {
  public:
    // The parts must outlive it.
    Service(const SharedParts& parts, const config::SnapshotPtr& snapshot);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting() {}
    bool idle() const { return pushes_.empty(); }
    void stop();
    void reload(const config::SnapshotPtr& next);

    const PullManager& pulls() const { return pulls_; }
    void other_process_changed(const live::StreamKey& key) { pulls_.other_process_changed(key); }
    const PushManager& pushes() const { return pushes_; }
    const OriginHealth& health() const { return health_; }
    const TokenGuard& token_guard() const { return token_guard_; }

  private:
    void keep_origins();

    config::SnapshotPtr snapshot_;
    ClientTls tls_;
    OriginHealth health_;
    TokenGuard token_guard_;
    PullManager pulls_;
    PushManager pushes_;
    net::Gate& gate_;
    bool started_ = false;
};

}  // namespace service::edge

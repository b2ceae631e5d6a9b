#pragma once
// Edges: vhosts that serve what their origins have (cluster { mode remote; }). See doc/edge.md.

#include <memory>

#include "config/snapshot.h"
#include "service/edge/origins.h"
#include "service/edge/pulls.h"
#include "service/rtmp_dial.h"
#include "service/shared_parts.h"

namespace service::edge {

class Service {
  public:
    // The parts must outlive it.
    Service(const SharedParts& parts, const config::SnapshotPtr& snapshot);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting() {}
    bool idle() const { return true; }
    void stop();
    void reload(const config::SnapshotPtr& next);

    const Pulls& pulls() const { return pulls_; }

  private:
    config::SnapshotPtr snapshot_;
    ClientTls tls_;
    Origins origins_;
    Pulls pulls_;
};

}  // namespace service::edge

#pragma once
// CameraManager: the ingests of RTSP that the configuration has, each a Camera; a reload begins, changes and ends them.
// A guard of the gate learns which streams players ask for: of these, the ones on demand are pulled, and of the others
// a pause ends.

#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "runtime/loop/task_list.h"
#include "service/rtsp/camera.h"
#include "service/shared_parts.h"

namespace service::rtsp {

class CameraManager final : private relay::SourceOwner, private net::Guard {
  public:
    // The references must outlive it.
    CameraManager(net::SessionTable& sessions, live::Registry& registry, net::Gate& gate);
    ~CameraManager();  // stops: yields
    CameraManager(const CameraManager&) = delete;

    void start(const config::SnapshotPtr& snapshot);
    // Pulls whose configuration is the same go on; new clients of the gate see the new ones at once.
    void reload(const config::SnapshotPtr& next);
    void stop();

    const runtime::TaskList<Camera>& list() const { return cameras_; }
    // For Offers::fetches.
    Fetching fetching(const live::StreamKey& stream) const;

  private:
    const config::SnapshotPtr& snapshot() const override { return snapshot_; }
    net::SessionTable& sessions() override { return sessions_; }
    live::Registry& registry() override { return registry_; }
    const config::Vhost* fetching(const config::Snapshot& snapshot, std::string_view vhost) const override;
    void source_ended(relay::SourceRunner& runner) override;
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost& vhost) override;
    base::Result<void> check(const net::Visitor& visitor, const config::Vhost& vhost) override;
    Camera* find(const live::StreamKey& stream) const;
    void begin_wanted();

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    net::Gate& gate_;
    ClientTls tls_;
    runtime::TaskList<Camera> cameras_{"the last camera to be left"};
    bool started_ = false;
};

}  // namespace service::rtsp

#pragma once
// Forwarding: sends each published stream of a vhost to other servers, as configured by the vhost's forward block or
// decided by its backend. RTMP and MPEG-TS by UDP are here, other protocols are those of other services' offers. See
// doc/forward.md.

#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/followed_streams.h"
#include "live/hub/registry.h"
#include "net/sessions/session.h"
#include "runtime/loop/task_list.h"
#include "service/forward/backend.h"
#include "service/forward/push.h"

namespace service::forward {

class Service final : private live::StreamFollower, private relay::SinkOwner, private BackendUser {
  public:
    // service_id: of this run. links: of other protocols. The references must outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, Post post,
            std::string service_id, const std::vector<PushOffer>& links);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting() {}
    bool idle() const { return pushes_.empty(); }
    // Published data is still sent if that does not take long. Yields.
    void stop();
    // Starts pushes to new destinations and ends those to removed ones; the others are not disturbed.
    void reload(const config::SnapshotPtr& next);

    const runtime::TaskList<Push>& pushes() const { return pushes_; }
    const std::vector<std::shared_ptr<BackendQuery>>& queries() const { return queries_; }

  private:
    bool wants(const live::Stream& stream, const config::Vhost& vhost) const override;
    bool follow(live::Stream& stream, const config::Vhost& vhost) override;
    void keep(live::Stream& stream, const config::Vhost& vhost) override;
    void leave(live::Stream& stream) override;
    net::SessionTable& sessions() override { return sessions_; }
    void sink_ended(relay::SinkRunner& runner) override { (void)pushes_.take(static_cast<Push&>(runner)); }
    void backend_answered(live::Stream& stream, const std::vector<std::string>& destinations) override;

    void send_to(live::Stream& stream, const std::vector<std::string>& destinations);
    void ask(live::Stream& stream, const std::string& url);
    BackendQuery* asking_of(const live::Stream& stream) const;
    void stop_asking(const live::Stream& stream);

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    live::FollowedStreams followed_;
    const std::string service_id_;
    BackendQuery::Limiter query_limiter_;
    Push::Shared shared_;
    runtime::TaskList<Push> pushes_{"the last forwarded stream to end"};
    // One per published stream with a backend, kept until the stream ends, so that a reload without a change does not
    // ask again.
    std::vector<std::shared_ptr<BackendQuery>> queries_;
    bool started_ = false;
};

}  // namespace service::forward

#pragma once
// Live streams over HTTP: HTTP-FLV and WebSocket-FLV, MPEG-TS, AAC (ADTS) and MP3, at the paths of each vhost's
// http_remux.mount. The request is answered and the stream found in the connection's coroutine; then the viewer is
// parked in its log. If the stream is not published, that coroutine waits (http_remux.wait_publisher), provided that no
// file has that name. A quota limits how many may wait.

#include <memory>

#include "base/indexed_list.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/admission/address_quota.h"
#include "net/http/http_router.h"
#include "net/sessions/session.h"
#include "service/http_live/mount.h"
#include "service/http_live/viewer.h"
#include "service/shared_parts.h"

namespace service::http_live {

class Service final : private LiveViewerOwner {
  public:
    // Adds its route to the router. All references must outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
            net::HttpRouter& router, net::Gate& gate, const Offers& offers);
    ~Service();  // stops: yields

    base::Result<void> start() { return {}; }
    void stop_accepting();
    bool idle() const { return viewers_.empty(); }
    void stop();
    void reload(const config::SnapshotPtr& next) { snapshot_ = next; }

    size_t viewers() const { return viewers_.size(); }

  private:
    enum class When : uint8_t { kPublished, kLater };

    base::Result<void> handle(When when, net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> play(When when, net::HttpRequest& request, net::HttpResponse& response,
                            const config::Vhost& vhost, const MountMatch& match);
    base::Result<void> redirect(const net::HttpRequest& request, net::HttpResponse& response,
                                const config::Vhost& vhost, const MountMatch& match);
    base::Result<base::Ref<live::Stream>> await_published(const net::HttpRequest& request, net::HttpResponse& response,
                                                          const config::Vhost& vhost, const MountMatch& match);
    base::Ref<live::Stream> find_stream(const config::Vhost& vhost, const MountMatch& match);
    void viewer_ended(LiveViewer& viewer) override;

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    net::Gate& gate_;
    const Offers& offers_;
    base::IndexedList<LiveViewer> viewers_;
    bool stopping_ = false;
};

}  // namespace service::http_live

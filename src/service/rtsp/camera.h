#pragma once
// Camera: the stream of an ingest of RTSP: the runner of service/relay, whose only server is the camera.

#include <memory>
#include <string>
#include <vector>

#include "service/client_tls.h"
#include "service/relay/source_runner.h"
#include "service/rtsp/pull_config.h"

namespace service::rtsp {

net::SessionType rtsp_pull_type();

class Camera final : public relay::SourceRunner {
  public:
    // The references must outlive it.
    Camera(relay::SourceOwner& owner, ClientTls& tls, PullTask task);

    const PullTask& task() const { return task_; }

  private:
    std::vector<std::string> servers_now(const config::Vhost&) override { return {task_.source.url}; }
    base::Result<std::unique_ptr<relay::Source>> make_source(const std::string& origin,
                                                             const config::Vhost& vhost) override;
    int64_t on_failure(const base::Error& error) override;
    void warn_of_password();

    ClientTls& tls_;
    const PullTask task_;
    bool warned_ = false;
};

}  // namespace service::rtsp

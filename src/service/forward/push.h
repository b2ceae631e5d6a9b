#pragma once
// Push: forwards one stream to one destination: the runner of service/relay with a link of the destination's protocol.

#include <memory>
#include <string>
#include <vector>

#include "service/client_tls.h"
#include "service/forward/target.h"
#include "service/relay/sink_runner.h"

namespace service::forward {

class Push final : public relay::SinkRunner {
  public:
    // What those of a service share. links: of other protocols than RTMP and UDP.
    struct Shared {
        ClientTls tls{};
        UdpTargets udp_targets{};
        const std::vector<PushOffer>& links;
    };

    // The references must outlive it.
    Push(relay::SinkOwner& owner, Shared& shared, base::Ref<live::Stream> stream, Target target, std::string path);

    const Target& target() const { return target_; }

  private:
    std::vector<std::string> servers_now() override { return {target_.shown}; }
    base::Result<std::unique_ptr<PushLink>> make_link(const std::string& server) override;

    Shared& shared_;
    const Target target_;
};

}  // namespace service::forward

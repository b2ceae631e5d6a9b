#pragma once
// The casters (stream_caster): the ports of those that take UDP, and the encoders that publish by them.

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/sessions/connection_list.h"
#include "net/sessions/session.h"
#include "service/caster/encoder.h"
#include "service/caster/udp_port.h"

namespace service::caster {

class Service {
  public:
    // The references must outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate);
    ~Service();  // stops: yields
    Service(const Service&) = delete;

    base::Result<void> start();
    void stop_accepting();
    bool idle() const { return encoders_.empty(); }
    void stop();
    // Ports that stay go on; a publication ends when its port is gone or has another output.
    base::Result<std::move_only_function<void()>> prepare(const config::SnapshotPtr& next);

    size_t encoders() const { return encoders_.size(); }
    const std::vector<std::unique_ptr<UdpPort>>& ports() const { return ports_; }

    // For its ports and encoders.
    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    net::SessionTable& sessions() { return sessions_; }
    live::Registry& registry() { return registry_; }
    net::Gate& gate() { return gate_; }
    void add(std::unique_ptr<Encoder> encoder) { encoders_.start(std::move(encoder)); }
    void remove(Encoder& encoder) { encoders_.remove(encoder); }  // and destroys it

  private:
    // A port of a configuration: one that is there, or a new one.
    struct Wanted {
        UdpPort* present = nullptr;
        std::unique_ptr<UdpPort> opened{};
        std::string output;
    };
    base::Result<std::vector<Wanted>> wanted_ports(const config::Snapshot& next);
    void use(std::vector<Wanted> wanted);

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    net::Gate& gate_;
    bool started_ = false;
    std::vector<std::unique_ptr<UdpPort>> ports_;
    net::ConnectionList<Encoder> encoders_;
};

}  // namespace service::caster

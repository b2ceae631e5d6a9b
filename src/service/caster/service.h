#pragma once
// The casters (stream_caster): their ports, and the encoders that publish by them.

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
#include "service/caster/flv_connection.h"
#include "service/caster/gb_channels.h"
#include "service/caster/gb_session.h"
#include "service/caster/gb_udp_port.h"
#include "service/caster/port_list.h"
#include "service/caster/tcp_port.h"
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
    void give_over(bool on);
    bool idle() const { return encoders_.empty() && posts_.empty() && cameras_.empty(); }
    void stop();
    // Ports that stay go on; a publication by UDP ends when its port is gone or has another output, one by TCP goes on.
    base::Result<std::move_only_function<void()>> prepare(const config::SnapshotPtr& next);
    base::Result<void> check(const config::SnapshotPtr& next) const;

    const PortList<UdpPort>& udp_ports() const { return udp_ports_; }
    const PortList<TcpPort>& tcp_ports() const { return tcp_ports_; }
    const PortList<GbUdpPort>& gb_udp_ports() const { return gb_udp_ports_; }
    // A camera of GB28181 is expected until the channel expires. kBusy, kLimit.
    base::Result<void> announce(GbChannel channel);
    GbChannels& channels() { return channels_; }

    // For its ports and encoders.
    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    net::SessionTable& sessions() { return sessions_; }
    live::Registry& registry() { return registry_; }
    net::Gate& gate() { return gate_; }
    void add(std::unique_ptr<Encoder> encoder) { encoders_.start(std::move(encoder)); }
    void add(std::unique_ptr<GbSession> session) { cameras_.start(std::move(session)); }
    void accept(const TcpPort& port, std::unique_ptr<runtime::ByteStream> socket);
    // These destroy it.
    void remove(Encoder& encoder) { encoders_.remove(encoder); }
    void remove(FlvConnection& connection) { posts_.remove(connection); }
    void remove(GbSession& session) { cameras_.remove(session); }

  private:
    struct Wanted {
        std::vector<PortList<UdpPort>::Wanted> udp{};
        std::vector<PortList<TcpPort>::Wanted> tcp{};
        std::vector<PortList<GbUdpPort>::Wanted> gb_udp{};
    };
    base::Result<Wanted> wanted_ports(const config::Snapshot& next);
    void use(Wanted wanted);
    void expire_channels();

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    net::Gate& gate_;
    bool started_ = false;
    PortList<UdpPort> udp_ports_;
    PortList<TcpPort> tcp_ports_;
    PortList<GbUdpPort> gb_udp_ports_;
    GbChannels channels_;
    runtime::Task expiry_;  // while channels wait
    net::ConnectionList<Encoder> encoders_;
    net::ConnectionList<FlvConnection> posts_;
    net::ConnectionList<GbSession> cameras_;
};

}  // namespace service::caster

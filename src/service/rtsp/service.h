#pragma once
// RTSP and RTSPS: listens on the addresses of rtsp_server.listen and rtsps.listen, creates a Connection for each client
// and owns them. Also has the streams that are pulled from cameras, whether the server is enabled or not.

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/admission/listeners.h"
#include "net/admission/tls_pair.h"
#include "net/sessions/connection_list.h"
#include "net/sessions/session.h"
#include "runtime/loop/log_limit.h"
#include "service/relay/ingest_manager.h"
#include "service/rtsp/camera.h"
#include "service/rtsp/connection.h"
#include "service/rtsp/tunnel.h"
#include "service/rtsp/udp_ports.h"
#include "service/shared_parts.h"

namespace service::rtsp {

using Cameras = relay::IngestManager<Camera>;

class Service {
  public:
    // signature: of this server, for the header field Server. The references must outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate,
            const Offers& offers, std::string signature);
    ~Service();  // stops: yields
    Service(const Service&) = delete;

    base::Result<void> start();
    void stop_accepting() { listeners_.stop(); }
    void give_over(bool on) { cameras_.give_over(on); }
    bool idle() const { return connections_.empty(); }
    void stop();
    // Applies to connections that begin from now on.
    base::Result<std::move_only_function<void()>> prepare(const config::SnapshotPtr& next);

    uint16_t port(size_t listener = 0) const { return listeners_.port(listener); }
    size_t connections() const { return connections_.size(); }

    // A connection that a listener has accepted. tls: null for a plain one; its handshake is not done yet.
    void accept(std::unique_ptr<runtime::ByteStream> socket, net::TlsPair::Context tls);

    // For its connections.
    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    net::SessionTable& sessions() { return sessions_; }
    live::Registry& registry() { return registry_; }
    net::Gate& gate() { return gate_; }
    const std::string& signature() const { return signature_; }
    // Null: media by UDP is not offered.
    UdpPorts* udp_ports() { return udp_ports_.get(); }
    Tunnels& tunnels() { return tunnels_; }
    runtime::LogLimit& refusal_log() { return refusal_log_; }
    runtime::LogLimit& description_log() { return description_log_; }  // what is odd in what clients announce
    const Cameras& cameras() const { return cameras_; }
    const Offers& offers() const { return offers_; }
    void remove(Connection& connection) { connections_.remove(connection); }  // and destroys it

  private:
    base::Result<void> start_server();
    void housekeeping();
    void end_outdated_players();

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    net::Gate& gate_;
    const Offers& offers_;
    const std::string signature_;
    net::TlsPair tls_pair_{"rtsps"};
    net::Listeners listeners_;
    runtime::LogLimit refusal_log_, description_log_;
    Tunnels tunnels_;
    std::unique_ptr<UdpPorts> udp_ports_;
    ClientTls client_tls_;  // of the cameras
    Cameras cameras_;
    runtime::Task timer_;
    net::ConnectionList<Connection> connections_;
};

}  // namespace service::rtsp

#pragma once
// RTMP and RTMPS: listens on the addresses of rtmp.listen and rtmps.listen, creates a Connection for each client and
// owns them.

#include <functional>
#include <memory>

#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/admission/listeners.h"
#include "net/admission/tls_pair.h"
#include "net/sessions/connection_list.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/log_limit.h"
#include "service/rtmp/connection.h"
#include "service/shared_parts.h"

namespace service::rtmp {

class Service {
  public:
    // All must outlive it. offers: null: there are none.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, net::Gate& gate,
            const Offers* offers = nullptr);
    ~Service();  // stops: yields
    Service(const Service&) = delete;

    base::Result<void> start();
    void stop_accepting() { listeners_.stop(); }
    bool idle() const { return connections_.empty(); }
    void stop();
    // Applies to connections, publishers and players that begin from now on; live streams take its options.
    void reload(const config::SnapshotPtr& next);
    // The same in two phases, with its key and certificate.
    base::Result<std::move_only_function<void()>> prepare(const config::SnapshotPtr& next);

    uint16_t port(size_t listener = 0) const { return listeners_.port(listener); }
    size_t connections() const { return connections_.size(); }

    // A connection that a listener has accepted. tls: null for a plain one; its handshake is not done yet.
    void accept(std::unique_ptr<runtime::ByteStream> socket, net::TlsPair::Context tls, Peer peer = Peer::kClient);

    // For its connections.
    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    net::SessionTable& sessions() { return sessions_; }
    live::Registry& registry() { return registry_; }
    net::Gate& gate() { return gate_; }
    // Null: streams are not looked up at other servers.
    Locator* locator() const { return offers_ ? offers_->locator : nullptr; }
    runtime::LogLimit& refusal_log() { return refusal_log_; }
    void remove(Connection& connection) { connections_.remove(connection); }  // and destroys it

  private:
    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    net::Gate& gate_;
    const Offers* offers_;
    net::TlsPair tls_pair_{"rtmps"};
    net::Listeners listeners_;
    runtime::LogLimit refusal_log_;
    net::ConnectionList<Connection> connections_;
};

}  // namespace service::rtmp

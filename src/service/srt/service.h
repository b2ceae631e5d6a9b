#pragma once
// The SRT service: publishers and players of the addresses of srt_server.listen. It owns the ports, the handshakes
// (callers.h) and the sessions, and finds the session of each datagram: by our socket id, which is random, and the
// address of its handshake.

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/indexed_list.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "runtime/socket/datagram_port.h"
#include "service/srt/callers.h"
#include "service/srt/ingest.h"
#include "service/srt/session.h"
#include "service/srt/stats.h"

namespace service::srt {

class Service final : private runtime::DatagramUser, private SessionHost, private CallerOwner {
  public:
    // All references must outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& table, live::Registry& registry, net::Gate& gate);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting();
    void give_over(bool on) { pulls_.give_over(on); }
    bool idle() const { return sessions_.empty(); }
    void stop();
    // Applies to callers that come from now on.
    void reload(const config::SnapshotPtr& next);

    uint16_t port(size_t listener = 0) const { return ports_[listener]->port(); }
    size_t sessions() const { return sessions_.size(); }
    size_t pending() const { return callers_ ? callers_->pending() : 0; }
    const net::SessionTable& table() const { return table_; }
    const IngestPulls& pulls() const { return pulls_; }
    const Callers* callers() const { return callers_.get(); }
    const Stats& stats() const { return stats_; }

  private:
    // DatagramUser
    void on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort& port, int64_t now_us) override;
    // SessionHost
    void end_soon(Session& session) override;
    // CallerOwner
    Session* find(const CallerKey& caller) override;
    bool replaces(const CallerKey& caller, const live::StreamKey& stream) const override;
    uint32_t new_id() override;
    base::Result<Session*> begin(AdmittedCaller caller, bool publishes) override;

    void run_housekeeping();
    void reap();
    Session* publisher_from(const base::Endpoint& from, const live::StreamKey& stream) const;

    config::SnapshotPtr snapshot_;
    net::SessionTable& table_;
    live::Registry& registry_;
    net::Gate& gate_;
    Stats stats_;
    std::vector<std::unique_ptr<runtime::DatagramPort>> ports_;
    std::unique_ptr<Callers> callers_;
    IngestPulls pulls_;
    base::IndexedList<Session> sessions_;
    std::unordered_map<uint32_t, Session*> by_id_;
    std::map<CallerKey, Session*> by_caller_;
    std::vector<Session*> ending_;
    runtime::Event work_{"SRT sessions to end"};
    runtime::Event empty_{"the last SRT session to go"};
    runtime::Task housekeeper_;
};

}  // namespace service::srt

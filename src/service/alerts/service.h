#pragma once
// alerts: looks every five seconds for what is wrong, and tells the log, the API (/api/v1/alerts) and the hooks
// (on_alert) when it begins and when it is over. The same conditions as those of research/grafana/rules.yml that an
// operator wants to be called for.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/http/api_endpoint.h"
#include "net/operations.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/log_limit.h"
#include "service/alerts/alert_book.h"
#include "service/alerts/config.h"
#include "service/identity.h"
#include "service/shared_parts.h"

namespace service::alerts {

class Service final : private live::StreamWatcher {
  public:
    static constexpr int64_t kLookMs = 5'000;
    // A stream that ended as it should is told about once, and forgotten after this time.
    static constexpr int64_t kForgetMs = 30 * 60'000;
    // Of more streams that are gone the first ones count. Each was published for at least publisher_gone, so that
    // nobody fills the list at once.
    static constexpr size_t kMaxGone = 1'000;

    // The references must outlive it.
    Service(config::SnapshotPtr snapshot, live::Registry& registry, net::SessionTable& sessions,
            const net::Operations& operations, const Offers& offers);
    ~Service();  // stops: yields

    base::Result<void> start();
    void stop_accepting() {}
    bool idle() const { return true; }
    void stop();
    void reload(const config::SnapshotPtr& next) { snapshot_ = next; }
    // Two processes serve: the one that new clients come to tells what is wrong at the server, each of them about the
    // streams that its own clients publish.
    void give_over(bool on) { is_given_over_ = on; }
    // The other process publishes the stream from now on, or does no longer: then it is this one that tells, if new
    // clients come here, or the other one has ended.
    void other_process_changed(const live::StreamKey& key);

    const AlertBook& book() const { return book_; }
    // What was found and is in no alert, as there are too many.
    uint64_t left_out() const { return book_.left_out() + gone_left_out_; }

  private:
    void stream_published(live::Stream& stream) override;
    void stream_unpublished(live::Stream& stream) override;

    void is_gone(const live::StreamKey& key);
    void run();
    void look();
    void find_streams(std::vector<Finding>& findings, const ServerConfig& limits);
    void find_of_server(std::vector<Finding>& findings, const ServerConfig& limits);
    void tell(const Alert& alert);

    config::SnapshotPtr snapshot_;
    live::Registry& registry_;
    net::SessionTable& sessions_;
    const net::Operations& operations_;
    const Offers& offers_;
    AlertBook book_;
    std::map<live::StreamKey, int64_t> gone_;  // streams that are not published any more, and since when
    std::set<live::StreamKey> pulled_;         // that are published, but not by a publisher of this process
    Growth refused_, failed_files_, stalled_ms_;
    runtime::LogLimit log_;
    uint64_t gone_left_out_ = 0;
    bool is_watching_ = false;
    bool is_given_over_ = false;
    runtime::Task task_;
};

net::ApiEndpoint api_row(const Service& service, const Identity& identity);

}  // namespace service::alerts

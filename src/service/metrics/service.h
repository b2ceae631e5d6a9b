#pragma once
// The exporter: serves only /metrics on exporter.listen, for Prometheus, and the same on the API's port, as SRS does.
// With http_api's auth enabled it requires the same name and password or token. The content: report.h.

#include <memory>
#include <string>

#include "config/snapshot.h"
#include "net/http/api_endpoint.h"
#include "net/http/http_router.h"
#include "net/http/http_server.h"
#include "runtime/loop/cached_value.h"
#include "runtime/loop/log_limit.h"
#include "service/metrics/report.h"

namespace service::metrics {

class Service {
  public:
    // The references must outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
            const net::Operations& operations, Offers& offers, const Identity& identity, net::ApiTable& api);

    base::Result<void> start();
    void stop_accepting() {}  // serves to the end, to show whether the server is draining
    void give_over(bool on) { server_.give_over(on); }
    // Scrapers do not delay the end of the server.
    bool idle() const { return true; }
    void stop() { server_.stop(); }
    void reload(const config::SnapshotPtr& next);

    net::HttpServer& server() { return server_; }

  private:
    static constexpr int64_t kEarlierMs = 200;

    void add_row(net::ApiTable& api);
    void add_other_process_route();
    base::Result<std::string> make_text();
    base::Result<void> read_earlier();
    void forget_earlier_streams();
    base::Result<void> send_text(net::HttpResponse& response);
    base::Result<void> serve(net::HttpRequest& request, net::HttpResponse& response);
    net::HttpServerOptions options() const;

    config::SnapshotPtr snapshot_;
    Offers& offers_;
    const Identity& identity_;
    Report report_;
    // Of the process that this one has replaced, as it has said last. When it has ended its counters stay, so that sums
    // do not begin anew.
    std::shared_ptr<const prometheus::Families> earlier_;
    bool earlier_has_ended_ = false;
    runtime::LogLimit login_log_;
    net::HttpRouter router_;
    net::HttpServer server_;
    // Both make a Report, of which there is one at a time.
    runtime::CachedValue<std::string> text_{"the metrics", 200, 5'000};
};

}  // namespace service::metrics

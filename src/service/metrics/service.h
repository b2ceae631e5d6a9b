#pragma once
// The exporter: /metrics on exporter.listen, for Prometheus, and nothing else there. With http_api's auth enabled it
// asks for the same name and password or token. What it says: report.h.

#include <memory>
#include <string>

#include "config/snapshot.h"
#include "net/http/http_router.h"
#include "net/http/http_server.h"
#include "runtime/loop/sync.h"
#include "service/metrics/report.h"

namespace service::metrics {

class Service {
  public:
    // The references outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
            const net::HookStats& hooks, const net::Operations& operations, Identity identity);

    base::Result<void> start();
    void stop_accepting() {}  // to the end: whether it drains is what one wants to see
    // Who scrapes does not keep the server from ending.
    bool idle() const { return true; }
    void stop() { server_.stop(); }
    void reload(const config::SnapshotPtr& next);

    net::HttpServer& server() { return server_; }

  private:
    base::Result<void> serve(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> renew();
    net::HttpServerOptions options() const;

    config::SnapshotPtr snapshot_;
    Identity identity_;
    Report report_;
    net::HttpRouter router_;
    net::HttpServer server_;
    // Who asks while another's answer is being made, or soon after, gets the same.
    std::shared_ptr<const std::string> text_;
    int64_t made_ms_ = 0;
    bool making_ = false;
    runtime::Event made_{"the metrics"};
};

}  // namespace service::metrics

#pragma once
// The HTTP API of http_api: its listeners, plain and TLS, access control, and its endpoints. The endpoints are rows of
// one table, which is served, listed at /, /api/ and /api/v1/, and described at /api/v1/openapi.json. Other services
// add rows to the ApiTable, or routes to the router, before it starts. Shapes: INTERFACE.md, "HTTP API". It listens
// until the very end, so that a client can ask whether the server is draining.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/admission/tls_pair.h"
#include "net/http/http_server.h"
#include "runtime/loop/log_limit.h"
#include "service/api/about.h"
#include "service/api/control.h"
#include "service/api/diagnosis/debug.h"
#include "service/api/diagnosis/diagnosis_endpoint.h"
#include "service/api/diagnosis/verdicts.h"
#include "service/api/earlier/upgrade_endpoint.h"
#include "service/api/history/history.h"
#include "service/api/history/history_endpoint.h"
#include "service/api/lists/log_lines.h"
#include "service/api/lists/past.h"
#include "service/api/lists/recordings.h"
#include "service/api/lists/relays.h"
#include "service/api/lists/statistics.h"
#include "service/api/overview.h"
#include "service/api/raw.h"
#include "service/api/snapshots/snapshots.h"
#include "service/api/system.h"
#include "service/api/table/context.h"
#include "service/api/url_signing.h"

namespace service::api {

class Service {
  public:
    // The parts must outlive it.
    Service(config::SnapshotPtr snapshot, const SharedParts& parts);

    // Adds the routes, if the API is enabled. Called when the rows of other services are complete, and before any
    // server that serves the routes is started. As in SRS, the version is also served by http_server.
    void connect();
    base::Result<void> start();
    void stop_accepting() {}
    void give_over(bool on) { server_.give_over(on); }
    // API clients do not delay the end of the server.
    bool idle() const { return true; }
    void stop();
    void reload(const config::SnapshotPtr& next);
    // The same in two phases, with its key and certificate.
    base::Result<std::move_only_function<void()>> prepare(const config::SnapshotPtr& next);

    net::HttpServer& server() { return server_; }
    // The data field of /api/v1/summaries.
    std::string summaries() const;
    const std::vector<Endpoint>& rows() const { return rows_; }
    const Overview& overview() const { return overview_; }
    void write_metrics(prometheus::Text& text) const { snapshots_.write_metrics(text); }
    void other_process_changed(const live::StreamKey& key) { diagnosis_.other_process_changed(key); }

  private:
    base::Result<void> listen(const config::ListenAddresses& addresses, const net::TlsPair* tls);
    void add_routes();
    void add_listings();
    void add_health();
    void log_control_access() const;
    bool reads_by_post(const Endpoint& row) const;
    const Endpoint* find_row(std::string_view pattern, http::Method method) const;  // null: not found
    // Adds a route behind the access check. Debugging routes do not exist while debug is off.
    void add_route(const Endpoint& row);
    base::Result<void> handle(const Endpoint& row, net::HttpRequest& request, net::HttpResponse& response);
    bool is_published_there(const net::HttpRequest& request) const;
    std::string subject_of(const Endpoint& row, const net::HttpRequest& request);
    void record_change(const Endpoint& row, const net::HttpRequest& request, std::string about,
                       const net::HttpResponse& response) const;
    base::Result<void> serve(const Endpoint& row, net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> list_below(std::string_view path, net::HttpResponse& response);
    net::HttpServerOptions options() const;

    Context context_;
    About about_{context_};
    System system_{context_};
    Earlier earlier_{context_};
    Verdicts verdicts_{context_};
    Statistics statistics_{context_, earlier_, verdicts_};
    UpgradeEndpoint upgrade_{context_};
    Overview overview_{context_, earlier_, statistics_, system_, verdicts_};
    DiagnosisEndpoint diagnosis_{context_, earlier_, statistics_, verdicts_};
    History history_{context_, system_};
    HistoryEndpoint history_endpoint_{context_, earlier_, history_};
    Control control_{context_, statistics_};
    UrlSigning url_signing_{context_};
    Recordings recordings_{context_};
    Snapshots snapshots_{context_, statistics_};
    LogLines log_lines_{context_};
    Relays relays_{context_};
    Past past_{context_, earlier_};
    Debug debug_{context_};
    Raw raw_{context_};
    net::TlsPair tls_pair_{"http_api/https"};
    std::vector<Endpoint> rows_;  // complete once started; not moved afterwards
    runtime::LogLimit login_log_;
    net::HttpServer server_;
    runtime::Task housekeeper_;
};

}  // namespace service::api

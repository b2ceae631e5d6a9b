#pragma once
// The HTTP API of http_api: its listeners, plain and TLS, access control, and its endpoints. The endpoints are rows of
// one table, which is served, listed at /, /api/ and /api/v1/, and described at /api/v1/openapi.json. Other services
// add rows to the ApiTable, or routes to the router, before it starts. Shapes: INTERFACE.md, "HTTP API". It listens
// until the very end, so that a client can ask whether the server is draining.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/admission/tls_pair.h"
#include "net/http/http_router.h"
#include "net/http/http_server.h"
#include "net/operations.h"
#include "net/sessions/session.h"
#include "runtime/loop/log_limit.h"
#include "service/api/about.h"
#include "service/api/control.h"
#include "service/api/diagnosis/debug.h"
#include "service/api/diagnosis/diagnosis_endpoint.h"
#include "service/api/diagnosis/end_reasons.h"
#include "service/api/lists/log_lines.h"
#include "service/api/lists/recordings.h"
#include "service/api/lists/statistics.h"
#include "service/api/overview.h"
#include "service/api/raw.h"
#include "service/api/system.h"
#include "service/api/table/envelope.h"
#include "service/identity.h"
#include "service/shared_parts.h"

namespace service::api {

// All of them must outlive the service.
struct Parts {
    const Identity& identity;
    const std::vector<std::string_view>& features;  // of the services that are built in
    net::SessionTable& sessions;
    live::Registry& registry;
    net::HttpRouter& http_router;  // of http_server
    net::HttpRouter& router;
    const net::ApiTable& others;  // rows of other services
    const net::Operations& operations;
    const Offers& offers;
    live::Events& events;
};

class Service {
  public:
    Service(config::SnapshotPtr snapshot, Parts parts);

    // Adds the routes, if the API is enabled. Called when the rows of other services are complete, and before any
    // server that serves the routes is started. As in SRS, the version is also served by http_server.
    void connect();
    base::Result<void> start();
    void stop_accepting() {}
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
    base::Result<void> serve(const Endpoint& row, net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> list_below(std::string_view path, net::HttpResponse& response);
    net::HttpServerOptions options() const;

    config::SnapshotPtr snapshot_;
    Parts parts_;
    const Identity& identity_;
    About about_;
    System system_;
    Statistics statistics_;
    Overview overview_;
    EndReasons end_reasons_;
    DiagnosisEndpoint diagnosis_;
    Control control_;
    Recordings recordings_;
    LogLines log_lines_;
    Debug debug_;
    Raw raw_;
    net::TlsPair tls_pair_{"http_api/https"};
    std::vector<Endpoint> rows_;  // complete once started; not moved afterwards
    runtime::LogLimit login_log_;
    net::HttpServer server_;
    runtime::Task housekeeper_;
};

}  // namespace service::api

#pragma once
// The HTTP server of http_server: its listeners, plain and TLS, and static files: first each vhost's http_static, then
// http_server.dir, subject to access control (net/access/file_access.h). Other services add their routes to the same
// router before it starts.

#include <functional>
#include <memory>
#include <string>

#include "config/snapshot.h"
#include "net/access/file_access.h"
#include "net/admission/tls_pair.h"
#include "net/http/http_router.h"
#include "net/http/http_server.h"
#include "net/sessions/session.h"

namespace service::http_server {

class Service {
  public:
    // api: the API's routes, which are also served here, to the very end, if http_api has the same address
    // (config::is_shared); they must be complete when this starts. server_name: for the Server header. The references
    // must outlive it. It passes the configuration to `access`.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, net::HttpRouter& router,
            const net::HttpRouter& api, net::FileAccess& access, std::string server_name);

    base::Result<void> start();
    void stop_accepting() { server_.stop_accepting(); }
    void give_over(bool on) { server_.give_over(on); }
    bool idle() const { return server_.connections() == 0; }
    void stop() { server_.stop(); }
    void reload(const config::SnapshotPtr& next);
    // The same in two phases, with its key and certificate.
    base::Result<std::move_only_function<void()>> prepare(const config::SnapshotPtr& next);

    net::HttpServer& server() { return server_; }

  private:
    base::Result<void> listen(const config::ListenAddresses& addresses, const net::TlsPair* tls);
    base::Result<void> serve_file(net::HttpRequest& request, net::HttpResponse& response);
    net::HttpServerOptions options() const;

    config::SnapshotPtr snapshot_;
    net::HttpRouter& router_;
    const net::HttpRouter& api_;
    net::HttpRouter shared_;  // the routes of both
    net::FileAccess& access_;
    std::string server_name_;
    net::TlsPair tls_pair_{"http_server/https"};
    net::HttpServer server_;
};

}  // namespace service::http_server

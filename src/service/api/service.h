#pragma once
// The HTTP API of http_api: its listeners, plain and TLS, who may call what, and the endpoints that list what there is.
// Endpoints are rows of one route table, each with who may call it and a line about it; the listings are made of that
// table. Other services may add routes of their own to the same router before it starts (WHIP and WHEP do).
// Shapes: INTERFACE.md, "HTTP API". Debugging endpoints: debug.h.

#include <functional>
#include <memory>
#include <string>

#include "config/snapshot.h"
#include "net/http_router.h"
#include "net/http_server.h"
#include "net/session.h"
#include "net/tls_pair.h"
#include "service/api/access.h"
#include "service/api/debug.h"
#include "service/api/envelope.h"
#include "service/api/raw.h"

namespace service::api {

class Service {
  public:
    // signature, version: of this server. Both references outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, net::HttpRouter& router, std::string signature,
            std::string version, const net::Operations& operations);

    base::Result<void> start();
    void stop_accepting() { server_.stop_accepting(); }
    // Who asks the API does not keep the server from ending.
    bool idle() const { return true; }
    void stop() { server_.stop(); }
    void reload(const config::SnapshotPtr& next);
    // The same in two phases, with its key and certificate.
    base::Result<std::move_only_function<void()>> prepare(const config::SnapshotPtr& next);

    net::HttpServer& server() { return server_; }

  private:
    base::Result<void> listen(const config::ListenAddresses& addresses, std::shared_ptr<runtime::TlsContext> tls);
    void add_routes();
    // A route behind the check of who calls. Debugging ones are not there while debug is off.
    void add(Endpoint endpoint);
    base::Result<void> refuse(const Verdict& verdict, net::HttpResponse& response);
    base::Result<void> list_below(std::string_view path, net::HttpResponse& response);
    base::Result<void> versions(net::HttpResponse& response);
    net::HttpServerOptions options() const;

    config::SnapshotPtr snapshot_;
    net::HttpRouter& router_;
    Identity identity_;
    Debug debug_;
    Raw raw_;
    net::TlsPair tls_pair_{"http_api/https"};
    net::HttpServer server_;
};

}  // namespace service::api

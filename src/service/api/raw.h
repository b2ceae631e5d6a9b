#pragma once
// /api/v1/raw: what the API may change (rpc=raw), the reload (rpc=reload), and the result of the last reload
// (rpc=reload-fetch). /api/v1/operations: the state of the run: draining, overload, reloads. Shapes: INTERFACE.md and
// doc/reload.md.

#include <functional>
#include <vector>

#include "config/snapshot.h"
#include "net/operations.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class Raw {
  public:
    // Identity and operations must outlive it. snapshot: returns the one in force.
    Raw(const Identity& identity, const net::Operations& operations, std::function<config::SnapshotPtr()> snapshot)
        : identity_(identity), operations_(operations), snapshot_(std::move(snapshot)) {}

    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> answer(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> report(net::HttpResponse& response);
    base::Result<void> fetch(net::HttpResponse& response);
    base::Result<void> operations(net::HttpResponse& response);
    base::Result<void> reload(net::HttpResponse& response);

    const Identity& identity_;
    const net::Operations& operations_;
    std::function<config::SnapshotPtr()> snapshot_;
};

// Null if there was none.
Json to_json(const net::ReloadReport& report);

}  // namespace service::api

#pragma once
// /api/v1/raw: what the API may change (rpc=raw), the reload (rpc=reload), and the result of the last reload
// (rpc=reload-fetch). /api/v1/config/changes: what a reload would change. /api/v1/operations: the state of the run:
// draining, overload, reloads. Shapes: INTERFACE.md and doc/reload.md.

#include <vector>

#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class Raw {
  public:
    // It must outlive this.
    explicit Raw(const Context& context) : context_(context) {}

    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> answer(Request& request, Response& response);
    base::Result<void> report(Response& response);
    base::Result<void> fetch(Response& response);
    base::Result<void> operations(Request& request, Response& response);
    base::Result<void> reload(Response& response);
    base::Result<void> changes(Request& request, Response& response);
    bool may_reload() const;

    const Context& context_;
};

// Null if there was none.
Json to_json(const net::ReloadReport& report);

}  // namespace service::api

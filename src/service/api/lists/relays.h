#pragma once
// /api/v1/relays: the streams that this server fetches from other servers or passes on to them, of all services.

#include <vector>

#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"

namespace service::api {

class Relays {
  public:
    // It must outlive this.
    explicit Relays(const Context& context) : context_(context) {}
    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> answer(Request& request, Response& response);

    const Context& context_;
};

}  // namespace service::api

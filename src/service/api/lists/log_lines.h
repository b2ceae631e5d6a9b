#pragma once
// The newest lines of the server's log, from memory (base/log_ring.h). They contain addresses of clients: privileged.

#include <vector>

#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class LogLines {
  public:
    explicit LogLines(const Identity& identity) : identity_(identity) {}
    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> answer(net::HttpRequest& request, net::HttpResponse& response);

    const Identity& identity_;
};

}  // namespace service::api

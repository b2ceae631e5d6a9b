#pragma once
// The newest lines of the server's log, from memory (base/log_ring.h). They contain addresses of clients: privileged.

#include <vector>

#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"

namespace service::api {

class LogLines {
  public:
    // It must outlive this.
    explicit LogLines(const Context& context) : context_(context) {}
    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> answer(Request& request, Response& response);

    const Context& context_;
};

}  // namespace service::api

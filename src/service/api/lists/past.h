#pragma once
// What was: sessions, present and past, by time, stream and client; and what was used, by day, vhost, app, stream and
// token (service/accounts). Both are read in pieces, and other coroutines run in between.

#include <vector>

#include "service/api/earlier/earlier.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"

namespace service::api {

class Past {
  public:
    // Both must outlive this.
    Past(const Context& context, Earlier& earlier) : context_(context), earlier_(earlier) {}
    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> sessions(Request& request, Response& response);
    base::Result<void> usage(Request& request, Response& response);

    const Context& context_;
    Earlier& earlier_;
};

}  // namespace service::api

#pragma once
// The sessions that ended, each with its reason: GET clients?closed=true.

#include "net/sessions/session.h"
#include "service/api/table/envelope.h"

namespace service::api {

class EndReasons {
  public:
    // Both must outlive it.
    EndReasons(const Identity& identity, const net::SessionTable& sessions)
        : identity_(identity), sessions_(sessions) {}

    // Newest first; start and count as in the other lists.
    base::Result<void> closed_clients(net::HttpRequest& request, net::HttpResponse& response);

  private:
    const Identity& identity_;
    const net::SessionTable& sessions_;
};

}  // namespace service::api

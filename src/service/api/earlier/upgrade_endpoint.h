#pragma once
// GET and DELETE /api/v1/upgrade: the process that this one has replaced, while it still serves clients, and its end.

#include <vector>

#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"

namespace service::api {

class UpgradeEndpoint {
  public:
    // It must outlive this.
    explicit UpgradeEndpoint(const Context& context) : context_(context) {}
    std::vector<Endpoint> endpoints();

  private:
    base::Result<void> state(Request& request, Response& response);
    base::Result<void> end_earlier(Request& request, Response& response);

    const Context& context_;
};

// pid, version, since_ms, publishers, players, ...; null: there is none, or it has not said yet. Does not yield.
Json earlier_process_json(const Offers& offers);
// The syntax is shape.h's.
inline constexpr const char* kEarlierShape =
    "earlier_process{pid:int version:str since_ms:int publishers:int players:int connections:int "
    "stream_memory_bytes:int}|null";

}  // namespace service::api

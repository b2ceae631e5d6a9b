#pragma once
// The sessions that ended, each with its reason: GET clients?closed=true.

#include "service/api/earlier/earlier.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"

namespace service::api {

// Newest first; start and count as in the other lists.
base::Result<void> closed_clients(const Context& context, Earlier& earlier, Request& request, Response& response);

}  // namespace service::api
